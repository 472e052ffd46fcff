/*
expect:
  console: [info true 1]
*/
import { count as one, increment } from './lib/counter.js';
import * as same from './lib/counter.js';

export default function () {
  increment();
  console.log(one === same.count, one);
}
