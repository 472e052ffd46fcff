/*
expect:
  console: [info even odd]
*/
import { isEven } from './lib/even.js';

export default function () {
  console.log(isEven(4) ? 'even' : 'odd', isEven(3) ? 'even' : 'odd');
}
