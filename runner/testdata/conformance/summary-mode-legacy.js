/*
args: [--summary-mode, legacy]
expect:
  stdout: [iterations]
  counts: {iterations: 1}
k6:
  because: k6 has removed the mode; the built-in runner keeps it for scripts and pipelines that ask for it
  exit: 255
  stdout: []
  counts: {iterations: null}
*/
export default function () {}
