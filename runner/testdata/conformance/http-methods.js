/*
expect:
  counts: {http_reqs: 10}
  console: [info GET HEAD POST PUT PATCH DELETE OPTIONS PURGE get get]
*/
import http from 'k6/http';

export default function () {
  const url = `${__ENV.BASE_URL}/echo`;
  const method = (res) => res.request.method;
  // The case of a method is left alone.
  console.log(
    [
      http.get(url), http.head(url), http.post(url), http.put(url), http.patch(url), http.del(url), http.options(url),
      http.request('PURGE', url), http.request('get', url),
    ].map(method).join(' '),
    http.request('get', url).json('method')
  );
}
