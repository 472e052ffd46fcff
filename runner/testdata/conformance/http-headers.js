/*
expect:
  console: [info 1 yes tester/1 other.example, info 'application/json']
  rates: {checks: [1, 0]}
*/
import { check } from 'k6';
import http from 'k6/http';

export default function () {
  const res = http.get(`${__ENV.BASE_URL}/echo`, { headers: { 'x-one': 1, 'X-Two': 'yes', 'User-Agent': 'tester/1', Host: 'other.example' } });
  console.log(res.json('headers.X-One'), res.json('headers.X-Two'), res.json('headers.User-Agent'), res.json('host'));
  console.log(`'${res.headers['Content-Type']}'`);
  check(res, { 'names are canonical': (r) => r.headers['content-type'] === undefined });
}
