/*
env: {K6_LOCAL_IPS: 127.0.0.1}
expect:
  exit: 104
  stderr: [K6_LOCAL_IPS]
  none: [iterations]
k6:
  because: the built-in runner chooses no local addresses, and says so
  exit: 0
  stderr: []
  none: []
*/
export default function () {}
