/*
expect:
  rates: {'checks{kind:a}': [1, 0], checks: [1, 1]}
*/
import { check } from 'k6';

export const options = { thresholds: { 'checks{kind:a}': ['rate==1'] } };

export default function () {
  check(1, { one: () => true }, { kind: 'a' });
  check(1, { two: () => false }, { kind: 'b' });
}
