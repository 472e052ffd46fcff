/*
expect:
  counts: {http_reqs: 4}
  console: [info 200 /echo, info GET]
*/
import http from 'k6/http';

// Each hop is a request of its own.
export default function () {
  const res = http.get(`${__ENV.BASE_URL}/redirect/3`);
  console.log(res.status, res.url.slice(__ENV.BASE_URL.length));
  console.log(res.request.method);
}
