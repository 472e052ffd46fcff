/*
expect:
  console: [info later]
*/
import { setTimeout as later } from 'k6/timers';

export default function () {
  later(() => console.log('later'), 1);
}
