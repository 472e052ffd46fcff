/*
expect:
  exit: 110
  counts: {iterations: 2}
  stderr: [not good enough]
*/
import exec from 'k6/execution';

export const options = { iterations: 2 };

export default function () {
  if (__ITER === 0) exec.test.fail('not good enough');
}
