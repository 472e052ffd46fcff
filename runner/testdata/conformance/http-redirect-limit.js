/*
expect:
  counts: {http_reqs: 4}
  console: [info 302 0, info 302 /redirect/3]
*/
import http from 'k6/http';

export default function () {
  const none = http.get(`${__ENV.BASE_URL}/redirect/5`, { redirects: 0 });
  console.log(none.status, none.error_code);
  const two = http.get(`${__ENV.BASE_URL}/redirect/5`, { redirects: 2 });
  console.log(two.status, two.url.slice(__ENV.BASE_URL.length));
}
