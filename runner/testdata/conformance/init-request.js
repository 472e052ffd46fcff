/*
expect:
  exit: 107
  stderr: [init-request.js]
*/
import http from 'k6/http';

http.get(__ENV.BASE_URL + '/echo');

export default function () {}
