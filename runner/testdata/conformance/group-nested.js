/*
expect:
  checks: {'outer::inner::deep': [1, 0], 'outer::flat': [1, 0], top: [1, 0]}
  counts: {group_duration: 2}
  console: [info 5]
*/
import { check, group } from 'k6';

export default function () {
  const value = group('outer', () => {
    group('inner', () => check(1, { deep: () => true }));
    check(1, { flat: () => true });
    return 5;
  });
  check(1, { top: () => true });
  console.log(value);
}
