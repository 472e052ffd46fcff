/*
expect:
  exit: 104
  stderr: [dns]
  none: [iterations]
k6:
  because: how names are looked up is left to the operating system by the built-in runner, which says so
  exit: 0
  stderr: []
  none: []
*/
export const options = { dns: { ttl: '1m' } };

export default function () {}
