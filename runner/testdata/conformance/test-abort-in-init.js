/*
expect:
  exit: 108
  stderr: [bad configuration]
*/
import exec from 'k6/execution';

exec.test.abort('bad configuration');

export default function () {}
