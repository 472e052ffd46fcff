/*
expect:
  console: [info threw]
*/
import { Counter, Trend } from 'k6/metrics';

let text = 'made';
try {
  new Trend('http_reqs');
} catch (e) {
  text = 'threw';
}

export default function () {
  console.log(text);
}
