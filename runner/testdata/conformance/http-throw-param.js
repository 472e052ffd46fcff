/*
expect:
  counts: {http_reqs: 3}
  console: [info 0, info caught, info 404]
*/
import http from 'k6/http';

// Only requests without an answer throw.
export default function () {
  console.log(http.get('http://127.0.0.1:1/').status);
  try {
    http.get('http://127.0.0.1:1/', { throw: true });
  } catch (e) {
    console.log('caught');
  }
  console.log(http.get(`${__ENV.BASE_URL}/status/404`, { throw: true }).status);
}
