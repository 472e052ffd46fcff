/*
args: [--batch-per-host, '1']
expect:
  counts: {http_reqs: 3}
  console: [info true]
*/
import http from 'k6/http';

export default function () {
  const start = Date.now();
  http.batch(Array.from({ length: 3 }, () => `${__ENV.BASE_URL}/delay/100`));
  console.log(Date.now() - start >= 290);
}
