/*
expect:
  console: [info threw]
k6:
  because: OCSP is not in the built-in runner, which says so
  console: [info object]
*/
import http from 'k6/http';

export default function () {
  const res = http.get(`${__ENV.BASE_URL}/echo`);
  try {
    console.log(typeof res.ocsp);
  } catch (e) {
    console.log('threw');
  }
}
