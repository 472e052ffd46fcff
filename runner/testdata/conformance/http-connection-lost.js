/*
expect:
  counts: {http_reqs: 2}
  rates: {http_req_failed: [2, 0]}
  console: [info 0 1000 EOF, info 0 1220]
*/
import http from 'k6/http';

export default function () {
  const closed = http.post(`${__ENV.BASE_URL}/close`, 'x');
  console.log(closed.status, closed.error_code, closed.error);
  const reset = http.post(`${__ENV.BASE_URL}/reset`, 'x');
  console.log(reset.status, reset.error_code);
}
