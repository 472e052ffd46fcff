/*
expect:
  counts: {http_reqs: 3}
  console: ['info post x, PUT y, GET ']
*/
import http from 'k6/http';

// In the form of an object the method is written in capitals, and get has no body.
export default function () {
  const url = `${__ENV.BASE_URL}/echo`;
  const list = http.batch([['post', url, 'x'], { method: 'put', url, body: 'y' }, { method: 'get', url, body: 'z' }]);
  console.log(list.map((res) => `${res.json('method')} ${res.json('body')}`).join(', '));
}
