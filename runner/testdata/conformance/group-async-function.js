/*
expect:
  stderr: [async]
*/
import { group } from 'k6';

export default function () {
  group('later', async () => {});
}
