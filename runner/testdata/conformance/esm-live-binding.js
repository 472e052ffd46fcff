/*
expect:
  console: [info 0 1]
*/
import { count, increment } from './lib/counter.js';

export default function () {
  const before = count;
  increment();
  console.log(before, count);
}
