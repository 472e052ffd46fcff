/*
expect:
  console:
    - info a=1&b=x+y&list=1&list=2
    - info application/x-www-form-urlencoded
    - info true
*/
import http from 'k6/http';

export default function () {
  const res = http.post(`${__ENV.BASE_URL}/echo`, { a: 1, b: 'x y', list: [1, 2] });
  console.log(res.json('body'));
  console.log(res.json('headers.Content-Type'));
  console.log(res.request.body === 'a=1&b=x+y&list=1&list=2');
}
