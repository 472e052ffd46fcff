/*
args: [--max-redirects, '1']
expect:
  counts: {http_reqs: 2}
  console: [info 302]
*/
import http from 'k6/http';

export default function () {
  console.log(http.get(`${__ENV.BASE_URL}/redirect/5`).status);
}
