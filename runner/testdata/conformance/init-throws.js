/*
expect:
  exit: 107
  stderr: [cannot begin]
*/
throw new Error('cannot begin');

export default function () {}
