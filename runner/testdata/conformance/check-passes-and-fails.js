/*
expect:
  rates: {checks: [5, 1]}
  checks: {is one: [3, 0], is even: [1, 1], a value: [1, 0]}
  console: [info true, info false, info true]
  exit: 0
*/
import { check } from 'k6';

export default function () {
  console.log(check(1, { 'is one': (v) => v === 1 }));
  console.log(check(1, { 'is one': (v) => v === 1, 'is even': (v) => v % 2 === 0 }));
  console.log(check(1, { 'is one': (v) => v === 1, 'is even': () => true, 'a value': 5 }));
}
