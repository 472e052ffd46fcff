/*
expect:
  counts: {iterations: 3, after: 2}
  stderr: [boom in 1, iteration-throws.js]
*/
import { Counter } from 'k6/metrics';

const after = new Counter('after');

export const options = { iterations: 3 };

// A throw ends its iteration, and the run goes on.
export default function () {
  if (__ITER === 1) throw new Error('boom in 1');
  after.add(1);
}
