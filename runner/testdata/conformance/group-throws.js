/*
expect:
  counts: {group_duration: 1}
  checks: {outside: [1, 0]}
  console: [info caught]
*/
import { check, group } from 'k6';

export default function () {
  try {
    group('bad', () => {
      throw new Error('in the group');
    });
  } catch (e) {
    console.log('caught');
  }
  check(1, { outside: () => true });
}
