/*
expect:
  console: [info true, info true]
*/
import { sleep } from 'k6';

export default function () {
  const start = Date.now();
  sleep(0.2);
  const slept = Date.now() - start;
  console.log(slept >= 195 && slept < 5000);
  sleep(0);
  sleep(-1);
  console.log(Date.now() - start < 5000);
}
