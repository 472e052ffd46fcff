/*
expect:
  counts: {iterations: 1}
  stderr: [no luck]
  none: [after]
*/
import { fail } from 'k6';
import { Counter } from 'k6/metrics';

const after = new Counter('after');

export default function () {
  fail('no luck');
  after.add(1);
}
