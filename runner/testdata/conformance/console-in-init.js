/*
expect:
  console: [info init 0, info init 1, info init 0, info init 0]
k6:
  because: k6 runs the init code once more for handleSummary(), for which the built-in runner keeps the first
  console: [info init 0, info init 1, info init 0, info init 0, info init 0]
*/
console.log('init', __VU);

// The init code runs to read the options, and then for each virtual user, for
// setup and for teardown.
export function setup() {}

export default function () {}

export function teardown() {}
