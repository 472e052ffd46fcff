/*
expect:
  counts: {http_reqs: 2}
  console: [info 1212, info caught]
*/
import http from 'k6/http';

export default async function () {
  const res = await http.asyncRequest('GET', 'http://127.0.0.1:1/');
  console.log(res.error_code);
  try {
    await http.asyncRequest('GET', 'http://127.0.0.1:1/', null, { throw: true });
  } catch (e) {
    console.log('caught');
  }
}
