/*
expect:
  console: [info 1050]
*/
import http from 'k6/http';

export default function () {
  console.log(http.get(`${__ENV.BASE_URL}/delay/5000`, { timeout: '200ms' }).error_code);
}
