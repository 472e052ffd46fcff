/*
expect:
  counts: {http_reqs: 3}
  console: [info 200 true, 'info 404,200']
*/
import http from 'k6/http';

export default async function () {
  const res = await http.asyncRequest('GET', `${__ENV.BASE_URL}/echo`);
  console.log(res.status, http.asyncRequest.constructor === Function);
  const both = await Promise.all(['status/404', 'echo'].map((path) => http.asyncRequest('GET', `${__ENV.BASE_URL}/${path}`)));
  console.log(both.map((r) => r.status).join());
}
