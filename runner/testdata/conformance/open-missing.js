/*
expect:
  exit: 107
  stderr: [nothing-here.txt]
*/
const text = open('./lib/nothing-here.txt');

export default function () {}
