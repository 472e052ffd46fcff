/*
args: [--http-debug=full]
expect:
  stderr: [GET /status/200, status 200]
*/
import http from 'k6/http';

export default function () {
  http.get(`${__ENV.BASE_URL}/status/200`);
}
