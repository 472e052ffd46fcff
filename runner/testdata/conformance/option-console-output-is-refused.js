/*
env: {K6_CONSOLE_OUTPUT: console.txt}
expect:
  exit: 104
  stderr: [K6_CONSOLE_OUTPUT]
  none: [iterations]
k6:
  because: the console of the built-in runner is stderr, which the shell can send to a file
  exit: 0
  stderr: []
  none: []
*/
export default function () {}
