/*
expect:
  exit: 108
  stderr: [no environment]
  none: [iterations]
*/
import exec from 'k6/execution';

export function setup() {
  exec.test.abort('no environment');
}

export default function () {}
