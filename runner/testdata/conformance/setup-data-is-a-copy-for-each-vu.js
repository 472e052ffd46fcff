/*
expect:
  console: [info 0]
  rates: {checks: [4, 0]}
*/
import { check } from 'k6';

export const options = { scenarios: { load: { executor: 'per-vu-iterations', vus: 2, iterations: 2 } } };

export function setup() {
  return { n: 0 };
}

// A virtual user sees its own changes, and no others'.
export default function (data) {
  check(data, { 'as this one left it': (d) => d.n === __ITER });
  data.n++;
}

export function teardown(data) {
  console.log(data.n);
}
