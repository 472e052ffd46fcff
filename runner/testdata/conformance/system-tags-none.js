/*
args: [--system-tags, '']
expect:
  counts: {http_reqs: 1, 'http_reqs{method:GET}': 0, 'http_reqs{own:yes}': 1}
*/
import http from 'k6/http';

export const options = { thresholds: { 'http_reqs{method:GET}': ['count==0'], 'http_reqs{own:yes}': ['count==1'] } };

export default function () {
  http.get(`${__ENV.BASE_URL}/echo`, { tags: { own: 'yes' } });
}
