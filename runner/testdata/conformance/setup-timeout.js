/*
expect:
  exit: 100
  stderr: [setup]
  none: [iterations]
*/
import { sleep } from 'k6';

export const options = { setupTimeout: '500ms' };

export function setup() {
  sleep(10);
}

export default function () {}
