/*
expect:
  counts: {iterations: 1}
  stderr: [only text]
*/
export default function () {
  throw 'only text';
}
