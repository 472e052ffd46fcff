/*
expect:
  rates: {checks: [5, 0]}
notOnK6: k6 fetches the library from the network; the built-in runner has its functions itself
*/
import { check } from 'k6';
import { randomIntBetween, randomItem, randomString, uuidv4, findBetween } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';

export default function () {
  check(null, {
    randomIntBetween: () => randomIntBetween(3, 3) === 3,
    randomItem: () => randomItem(['a']) === 'a',
    randomString: () => randomString(5).length === 5,
    uuidv4: () => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuidv4()),
    findBetween: () => findBetween('a(b)c', '(', ')') === 'b',
  });
}
