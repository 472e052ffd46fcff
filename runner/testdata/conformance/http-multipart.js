/*
expect:
  console: ['info ["value"] ["a.txt","text/plain","hello"]', info application/octet-stream]
*/
import http from 'k6/http';

export default function () {
  const res = http.post(`${__ENV.BASE_URL}/echo`, { field: 'value', up: http.file('hello', 'a.txt', 'text/plain') });
  console.log(JSON.stringify(res.json('form.field')), JSON.stringify(res.json('files.up')));
  console.log(http.file('x').content_type);
}
