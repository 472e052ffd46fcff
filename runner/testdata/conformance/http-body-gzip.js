/*
expect:
  console: [info gzip true]
*/
import http from 'k6/http';

export default function () {
  const res = http.post(`${__ENV.BASE_URL}/echo`, 'a'.repeat(1000), { compression: 'gzip' });
  console.log(res.json('headers.Content-Encoding'), res.json('length') < 200);
}
