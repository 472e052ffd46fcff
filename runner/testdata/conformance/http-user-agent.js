/*
args: [--user-agent, mine/2]
expect:
  console: [info mine/2]
*/
import http from 'k6/http';

export default function () {
  console.log(http.get(`${__ENV.BASE_URL}/echo`).json('headers.User-Agent'));
}
