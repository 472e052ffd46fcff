/*
expect:
  counts: {http_reqs: 4}
  rates: {http_req_failed: [0, 4]}
  console: [info 200, info 200]
k6:
  because: k6's digest authentication knows MD5 only
  console: [info 200, info 401]
  rates: {http_req_failed: [1, 3]}
*/
import http from 'k6/http';

export default function () {
  for (const algorithm of ['MD5', 'SHA-256']) {
    const at = __ENV.BASE_URL.replace('http://', 'http://ada:secret@');
    console.log(http.get(`${at}/digest/${algorithm}`, { auth: 'digest' }).status);
  }
}
