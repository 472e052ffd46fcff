/*
expect:
  exit: 107
  stderr: [k6/nothing]
*/
import nothing from 'k6/nothing';

export default function () {}
