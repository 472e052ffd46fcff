/*
expect:
  counts: {http_reqs: 1, 'http_reqs{error_code:1212}': 1}
  rates: {http_req_failed: [1, 0]}
  console: ['info 0 1212 dial: connection refused', info undefined]
  stderr: ['connect']
*/
import http from 'k6/http';

export const options = { thresholds: { 'http_reqs{error_code:1212}': ['count==1'] } };

export default function () {
  const res = http.get('http://127.0.0.1:1/');
  console.log(res.status, res.error_code, res.error);
  console.log(res.headers['Content-Type']);
}
