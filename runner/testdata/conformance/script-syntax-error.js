/*
expect:
  exit: 107
  stderr: [script-syntax-error.js]
*/
export default function () {
  const = 1;
}
