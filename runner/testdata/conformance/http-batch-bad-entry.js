/*
expect:
  console: [info 0 200]
  counts: {http_reqs: 1}
k6:
  because: k6 makes no request of a batch with a bad entry, and returns nothing; here the entry is a request that failed
  console: []
  counts: {http_reqs: null}
*/
import http from 'k6/http';

export default function () {
  const [bad, good] = http.batch([['GET'], `${__ENV.BASE_URL}/echo`]);
  console.log(bad.status, good.status);
}
