/*
expect:
  checks: {before: [1, 0], broken: [0, 1]}
  stderr: [is broken]
  none: [after]
*/
import { check } from 'k6';
import { Counter } from 'k6/metrics';

const after = new Counter('after');

export default function () {
  check(1, { before: () => true, broken: () => { throw new Error('is broken'); }, never: () => true });
  after.add(1);
}
