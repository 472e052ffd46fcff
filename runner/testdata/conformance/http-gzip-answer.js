/*
expect:
  console: [info true gzip, info 0 1701]
  stderr: ['gzip: invalid header']
*/
import http from 'k6/http';

export default function () {
  const res = http.get(`${__ENV.BASE_URL}/gzip`);
  console.log(res.json('zipped'), res.headers['Content-Encoding']);
  const bad = http.get(`${__ENV.BASE_URL}/bad-gzip`);
  console.log(bad.status, bad.error_code);
}
