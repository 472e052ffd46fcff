/*
expect:
  console: [info Ada 36 2]
  rates: {checks: [1, 0]}
*/
import { check } from 'k6';
import { older, type Person } from './lib/person.ts';

enum Level {
  Low = 1,
  High,
}

export const options = { iterations: 1 };

export default function (): void {
  const ada: Person = { name: 'Ada', age: 35 };
  const next = older(ada) as Person;
  console.log(next.name, next.age, Level.High);
  check<Person>(next, { older: (p: Person): boolean => p.age! > 35 });
}
