/*
expect:
  counts: {'http_reqs{method:POST,status:200,proto:HTTP/1.1}': 1, 'http_reqs{scenario:default,group:::g}': 1}
*/
import { group } from 'k6';
import http from 'k6/http';

export const options = {
  thresholds: {
    'http_reqs{method:POST,status:200,proto:HTTP/1.1}': ['count==1'],
    'http_reqs{scenario:default,group:::g}': ['count==1'],
  },
};

export default function () {
  group('g', () => http.post(`${__ENV.BASE_URL}/echo`, 'x'));
}
