/*
expect:
  exit: 107
  stderr: [k6/browser]
  console: []
  none: [iterations]
k6:
  because: k6 has the module, and the script runs as long as no browser is started
  exit: 0
  stderr: []
  console: [info object]
  none: []
*/
import { browser } from 'k6/browser';

export default function () {
  console.log(typeof browser);
}
