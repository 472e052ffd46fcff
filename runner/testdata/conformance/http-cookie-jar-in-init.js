/*
expect:
  exit: 107
*/
import http from 'k6/http';

const jar = http.cookieJar();

export default function () {}
