/*
expect:
  console: [info 1212, info 1212]
  counts: {http_reqs: 2}
*/
import http from 'k6/http';

export const options = { hosts: { 'shop.example': '127.0.0.1:1', '*.wild.example': '127.0.0.1:1' } };

export default function () {
  console.log(http.get('http://shop.example/').error_code);
  console.log(http.get('http://a.wild.example/').error_code);
}
