/*
expect:
  counts: {http_reqs: 5}
  console: [info 200 404 true, info GET POST body]
*/
import http from 'k6/http';

export default function () {
  const base = __ENV.BASE_URL;
  const list = http.batch([`${base}/echo`, ['GET', `${base}/status/404`], { method: 'GET', url: `${base}/echo` }]);
  console.log(list[0].status, list[1].status, Array.isArray(list));
  const named = http.batch({ a: `${base}/echo`, b: ['POST', `${base}/echo`, 'body', { tags: { x: 'y' } }] });
  console.log(named.a.json('method'), named.b.json('method'), named.b.json('body'));
}
