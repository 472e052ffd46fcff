/*
args: [--out, paper=samples]
expect:
  exit: 104
  stderr: [paper]
k6:
  because: k6 has no code of its own for outputs that it does not know
  exit: 255
*/
export default function () {}
