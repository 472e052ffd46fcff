/*
expect:
  counts: {http_reqs: 6}
  console: [info true]
*/
import http from 'k6/http';

export default function () {
  const start = Date.now();
  http.batch(Array.from({ length: 6 }, () => `${__ENV.BASE_URL}/delay/200`));
  console.log(Date.now() - start < 900);
}
