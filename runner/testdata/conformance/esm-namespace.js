/*
expect:
  console: ['info default,named,other', info named]
*/
import * as values from './lib/values.js';

export default function () {
  console.log(Object.keys(values).sort().join());
  console.log(values.named);
}
