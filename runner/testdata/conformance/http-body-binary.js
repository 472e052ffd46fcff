/*
expect:
  console: [info abc 3]
*/
import http from 'k6/http';

export default function () {
  const res = http.post(`${__ENV.BASE_URL}/echo`, new Uint8Array([97, 98, 99]).buffer);
  console.log(res.json('body'), res.json('length'));
}
