/*
expect:
  counts: {http_reqs: 6}
  console: [info 303 GET, info 302 GET, info 307 POST body]
*/
import http from 'k6/http';

// 307 keeps the method and the body.
export default function () {
  for (const code of [303, 302, 307]) {
    const res = http.post(`${__ENV.BASE_URL}/redirect-as/${code}`, 'body');
    console.log([code, res.json('method'), res.json('body')].filter(Boolean).join(' '));
  }
}
