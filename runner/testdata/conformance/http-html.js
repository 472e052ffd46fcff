/*
expect:
  console: [info threw]
k6:
  because: HTML parsing is not in the built-in runner, which says so
  console: [info parsed]
*/
import http from 'k6/http';

export default function () {
  try {
    http.get(`${__ENV.BASE_URL}/status/200`).html();
    console.log('parsed');
  } catch (e) {
    console.log('threw');
  }
}
