/*
expect:
  console: [info named default other]
*/
import { named, value, all } from './lib/reexports.js';

export default function () {
  console.log(named, value, all.other);
}
