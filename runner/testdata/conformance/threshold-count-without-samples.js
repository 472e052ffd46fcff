/*
expect:
  exit: 99
  counts: {never_added: 0}
*/
import { Counter } from 'k6/metrics';

const never = new Counter('never_added');

// A counter that nothing was added to is 0.
export const options = { thresholds: { never_added: ['count>0'] } };

export default function () {}
