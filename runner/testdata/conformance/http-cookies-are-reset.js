/*
expect:
  console: ['info {"a":"1"}', 'info {"a":"1"}']
  counts: {http_reqs: 6}
*/
import http from 'k6/http';

export const options = { iterations: 2 };

// Each iteration begins with an empty jar.
export default function () {
  if (Object.keys(http.get(`${__ENV.BASE_URL}/echo`).json('cookies')).length > 0) console.log('left over');
  http.get(`${__ENV.BASE_URL}/set-cookie?a=1`);
  console.log(JSON.stringify(http.get(`${__ENV.BASE_URL}/echo`).json('cookies')));
}
