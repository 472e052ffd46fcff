/*
expect:
  exit: 107
  stderr: [nowhere.js]
*/
import './lib/nowhere.js';

export default function () {}
