/*
expect:
  counts: {iterations: 1}
  console: [info handled]
*/
export default function () {
  const p = Promise.reject(new Error('handled later'));
  p.catch(() => console.log('handled'));
}
