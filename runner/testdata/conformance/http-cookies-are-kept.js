/*
expect:
  console: ['info {}', 'info {"a":"1"}']
*/
import http from 'k6/http';

export const options = { iterations: 2, noCookiesReset: true };

export default function () {
  console.log(JSON.stringify(http.get(`${__ENV.BASE_URL}/echo`).json('cookies')));
  http.get(`${__ENV.BASE_URL}/set-cookie?a=1`);
}
