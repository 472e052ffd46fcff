/*
expect:
  exit: 99
  rates: {checks: [2, 1], 'checks{group:::outer}': [1, 1], 'checks{check:always}': [1, 0]}
*/
import { check, group } from 'k6';

export const options = {
  thresholds: { 'checks{group:::outer}': ['rate==1'], 'checks{check:always}': ['rate==1'], 'group_duration{group:::outer}': ['max<10000'] },
};

export default function () {
  group('outer', () => {
    check(null, { yes: () => true, no: () => false });
  });
  check(null, { always: () => true });
}
