/*
expect:
  console: ['info {"a":1} 7 application/json', info none]
*/
import http from 'k6/http';

export default function () {
  const res = http.put(`${__ENV.BASE_URL}/echo`, JSON.stringify({ a: 1 }), { headers: { 'Content-Type': 'application/json' } });
  console.log(res.json('body'), res.json('length'), res.json('headers.Content-Type'));
  console.log(http.post(`${__ENV.BASE_URL}/echo`, 'text').json('headers.Content-Type') || 'none');
}
