/*
expect:
  exit: 107
*/
const text = open('');

export default function () {}
