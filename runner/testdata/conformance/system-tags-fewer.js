/*
args: [--system-tags, 'method,scenario']
expect:
  counts: {'http_reqs{method:GET}': 1, 'http_reqs{status:200}': 0}
*/
import http from 'k6/http';

export const options = { thresholds: { 'http_reqs{method:GET}': ['count==1'], 'http_reqs{status:200}': ['count==0'] } };

export default function () {
  http.get(`${__ENV.BASE_URL}/echo`);
}
