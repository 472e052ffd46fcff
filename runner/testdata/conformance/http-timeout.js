/*
expect:
  counts: {http_reqs: 1}
  rates: {http_req_failed: [1, 0]}
  console: [info 0 1050 request timeout null]
*/
import http from 'k6/http';

export default function () {
  const res = http.get(`${__ENV.BASE_URL}/delay/5000`, { timeout: 200 });
  console.log(res.status, res.error_code, res.error, res.body);
}
