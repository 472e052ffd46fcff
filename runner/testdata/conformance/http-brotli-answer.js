/*
expect:
  console: [info 0 1701]
  rates: {http_req_failed: [1, 0]}
  counts: {http_reqs: 1}
k6:
  because: the built-in runner decodes gzip and deflate, and no br or zstd
  console: [info 200 0]
  rates: {http_req_failed: [0, 1]}
*/
import http from 'k6/http';

export default function () {
  const res = http.get(`${__ENV.BASE_URL}/brotli`);
  console.log(res.status, res.error_code);
}
