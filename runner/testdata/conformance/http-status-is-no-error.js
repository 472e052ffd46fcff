/*
expect:
  counts: {http_reqs: 4}
  rates: {http_req_failed: [2, 2]}
  console: [info 404 1404 status 404, info 503 1503 status 503, info 204 0 null]
*/
import http from 'k6/http';

export default function () {
  for (const code of [404, 503]) {
    const res = http.get(`${__ENV.BASE_URL}/status/${code}`);
    console.log(res.status, res.error_code, res.body);
  }
  const empty = http.get(`${__ENV.BASE_URL}/status/204`);
  console.log(empty.status, empty.error_code, empty.body || null);
  http.get(`${__ENV.BASE_URL}/status/304`);
}
