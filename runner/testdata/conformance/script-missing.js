/*
script: there-is-no-such-script.js
expect:
  exit: 104
  stderr: [there-is-no-such-script.js]
k6:
  because: k6 has no code of its own for a script that is not there; here it is invalid input
  exit: 255
*/
