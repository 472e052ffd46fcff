/*
expect:
  console: [info threw true]
*/
import http from 'k6/http';

export default function () {
  const res = http.get(`${__ENV.BASE_URL}/status/200`);
  try {
    res.json();
  } catch (e) {
    console.log('threw', String(e).length > 5);
  }
}
