/*
expect:
  console: [info a bad name, 'info 1', info 9lives, info a, info ok_name ok_name]
*/
import { Counter } from 'k6/metrics';

const bad = ['a bad name', 1, '9lives', 'a'].filter((name) => {
  try {
    return !new Counter(name);
  } catch (e) {
    return true;
  }
});
const good = new Counter('ok_name');

export default function () {
  bad.forEach((name) => console.log(name));
  console.log(good.name, new Object(good).name);
}
