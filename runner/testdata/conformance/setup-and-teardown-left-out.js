/*
args: [--no-setup, --no-teardown]
expect:
  console: [info undefined]
*/
export function setup() {
  console.log('setup');
  return 1;
}

export default function (data) {
  console.log(typeof data);
}

export function teardown() {
  console.log('teardown');
}
