/*
expect:
  exit: 107
  console: []
  none: [iterations]
  stderr: [no database]
*/
export function setup() {
  throw new Error('no database');
}

export default function () {
  console.log('iteration');
}

export function teardown() {
  console.log('teardown');
}
