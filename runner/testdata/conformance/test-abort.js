/*
expect:
  exit: 108
  counts: {before: 1}
  none: [after]
  console: [info torn down]
  stderr: [out of stock]
*/
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';

const before = new Counter('before');
const after = new Counter('after');

export const options = { iterations: 5 };

export default function () {
  before.add(1);
  exec.test.abort('out of stock');
  after.add(1);
}

export function teardown() {
  console.log('torn down');
}
