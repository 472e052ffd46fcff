/*
expect:
  console: [info Ada b 2 undefined true, 'info [1,2] null', 'info {"id":2}', info object]
*/
import http from 'k6/http';

export default function () {
  const res = http.get(`${__ENV.BASE_URL}/json`);
  console.log(res.json('user.name'), res.json('user.tags.1'), res.json('list.#'), res.json('missing'), res.json('yes'));
  console.log(JSON.stringify(res.json('list.#.id')), res.json('none'));
  console.log(JSON.stringify(res.json('list.#(id==2)')));
  console.log(typeof res.json());
}
