/*
args: [--throw]
expect:
  counts: {http_reqs: 1, iterations: 1}
  console: [info caught]
*/
import http from 'k6/http';

export default function () {
  try {
    http.get('http://127.0.0.1:1/');
  } catch (e) {
    console.log('caught');
  }
}
