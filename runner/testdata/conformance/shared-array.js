/*
expect:
  rates: {checks: [6, 0]}
*/
import { check } from 'k6';
import { SharedArray } from 'k6/data';

const users = new SharedArray('users', () => JSON.parse(open('./lib/users.json')));

export const options = { vus: 2, iterations: 2 };

export default function () {
  check(users, {
    length: (list) => list.length === 3,
    element: (list) => list[1].name === 'Grace',
    iterable: (list) => [...list].length === 3 && list.map((u) => u.name).join() === 'Ada,Grace,Edsger',
  });
}
