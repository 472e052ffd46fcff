/*
expect:
  console: [info 0 1020]
  none: [http_reqs]
*/
import http from 'k6/http';

export default function () {
  const res = http.get('http://a:port/');
  console.log(res.status, res.error_code);
}
