/*
expect:
  console: [info named]
  counts: {iterations: 1}
k6:
  because: k6 has no import(); the built-in runner has it in the init code
  exit: 107
  console: []
  counts: {iterations: null}
*/
const values = await import('./lib/values.js');

export default function () {
  console.log(values.named);
}
