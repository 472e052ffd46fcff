/*
args: [--no-summary]
expect:
  counts: {iterations: 1}
k6:
  because: k6 has removed the flag; the built-in runner keeps it for pipelines that give it
  exit: 255
  counts: {iterations: null}
*/
export default function () {}
