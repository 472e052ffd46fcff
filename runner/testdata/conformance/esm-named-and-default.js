/*
expect:
  console: [info default named renamed]
*/
import value, { named, other as renamed } from './lib/values.js';

export default function () {
  console.log(value, named, renamed);
}
