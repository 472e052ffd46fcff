/*
expect:
  counts: {http_reqs: 1}
  console: [info 200 -]
*/
import http from 'k6/http';

// The second argument of get() is the parameters.
export default function () {
  const res = http.get(`${__ENV.BASE_URL}/echo`, { headers: { 'X-A': 'b' } }, { headers: { 'X-A': 'c' } });
  console.log(res.status, res.json('body') || '-');
}
