/*
args: [--execution-segment, '1/2:1/4']
expect:
  exit: 104
k6:
  because: k6 has no code of its own for segments that it cannot read
  exit: 255
*/
export default function () {}
