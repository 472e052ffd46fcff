/*
expect:
  console: [info null, info string]
*/
import http from 'k6/http';

export const options = { discardResponseBodies: true };

export default function () {
  console.log(http.get(`${__ENV.BASE_URL}/echo`).body);
  console.log(typeof http.get(`${__ENV.BASE_URL}/echo`, { responseType: 'text' }).body);
}
