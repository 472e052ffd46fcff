/*
expect:
  stderr: [async]
  counts: {iterations: 1}
*/
import { check } from 'k6';

export default function () {
  check(1, { later: async () => true });
}
