/*
args: [--rps, '10']
expect:
  counts: {http_reqs: 5}
  console: [info true]
*/
import http from 'k6/http';

export default function () {
  const start = Date.now();
  for (let i = 0; i < 5; i++) http.get(`${__ENV.BASE_URL}/echo`);
  console.log(Date.now() - start >= 350);
}
