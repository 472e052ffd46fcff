/*
expect:
  counts: {http_reqs: 1, iterations: 1}
  console: [info begun, info answered 200]
*/
import http from 'k6/http';

// An iteration lasts until what it has started is done.
export default function () {
  http.asyncRequest('GET', `${__ENV.BASE_URL}/delay/50`).then((res) => console.log('answered', res.status));
  console.log('begun');
}
