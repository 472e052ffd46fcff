/*
expect:
  console: [info threw, info Ada]
*/
import { SharedArray } from 'k6/data';

const users = new SharedArray('users', () => [{ name: 'Ada' }]);

export default function () {
  try {
    users[0] = { name: 'Eve' };
    users[0].name = 'Eve';
    console.log('nothing');
  } catch (e) {
    console.log('threw');
  }
  console.log(users[0].name);
}
