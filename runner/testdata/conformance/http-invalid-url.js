/*
expect:
  console: [info 0 1020]
  counts: {iterations: 1}
  none: [http_reqs]
k6:
  because: k6 counts an address without a host as a request that failed; here it is an invalid URL, for which nothing is sent or counted
  console: [info 0 1000]
  none: []
*/
import http from 'k6/http';

export default function () {
  const res = http.get('/no/host');
  console.log(res.status, res.error_code);
}
