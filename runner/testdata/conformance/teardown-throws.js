/*
expect:
  exit: 107
  counts: {iterations: 1}
  stderr: [left open]
*/
export default function () {}

export function teardown() {
  throw new Error('left open');
}
