/*
expect:
  counts: {http_reqs: 2}
  rates: {checks: [1, 0]}
*/
import { check } from 'k6';
import http, { get, post as send } from 'k6/http';

export default function () {
  check(get(`${__ENV.BASE_URL}/echo`), { ok: (r) => r.status === 200 && typeof http.get === 'function' });
  send(`${__ENV.BASE_URL}/echo`, 'x');
}
