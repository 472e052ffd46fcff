/*
expect:
  console: [info check, info group, info add]
  counts: {iterations: 1}
*/
import { check, group } from 'k6';
import { Counter } from 'k6/metrics';

const calls = new Counter('calls');
const threw = {};
for (const [name, f] of Object.entries({
  check: () => check(1, { one: () => true }),
  group: () => group('g', () => {}),
  add: () => calls.add(1),
})) {
  try {
    f();
  } catch (e) {
    threw[name] = e instanceof Error;
  }
}

export default function () {
  Object.keys(threw).forEach((name) => console.log(name));
}
