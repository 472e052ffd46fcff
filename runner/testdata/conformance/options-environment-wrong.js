/*
env: {K6_VUS: many}
expect:
  exit: 104
  stderr: [K6_VUS, many]
*/
export default function () {}
