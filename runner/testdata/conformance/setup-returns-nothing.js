/*
expect:
  console: [info undefined, info undefined]
*/
export function setup() {}

export default function (data) {
  console.log(typeof data);
}

export function teardown(data) {
  console.log(typeof data);
}
