/*
expect:
  counts: {'http_reqs{name:item}': 3}
*/
import http from 'k6/http';

export const options = { thresholds: { 'http_reqs{name:item}': ['count==3'] } };

export default function () {
  for (let id = 1; id <= 3; id++) http.get(`${__ENV.BASE_URL}/echo?id=${id}`, { tags: { name: 'item' } });
}
