/*
expect:
  exit: 110
  counts: {calls: 1}
*/
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';

const calls = new Counter('calls');

export const options = { thresholds: { calls: ['count>5'] } };

export default function () {
  calls.add(1);
  exec.test.fail();
}
