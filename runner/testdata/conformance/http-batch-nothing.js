/*
expect:
  counts: {iterations: 1}
  none: [http_reqs]
  console: [info 0]
*/
import http from 'k6/http';

export default function () {
  console.log(http.batch([]).length);
}
