/*
expect:
  exit: 101
  stderr: [teardown]
  counts: {iterations: 1}
*/
import { sleep } from 'k6';

export const options = { teardownTimeout: '500ms' };

export default function () {}

export function teardown() {
  sleep(10);
}
