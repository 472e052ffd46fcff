/*
expect:
  counts: {'http_reqs{status:404}': 1, 'http_reqs{name:home}': 2, 'http_req_duration{expected_response:true}': 2, http_reqs: 3}
  rates: {http_req_failed: [1, 2], 'http_req_failed{name:home}': [0, 2]}
*/
import http from 'k6/http';

export const options = {
  thresholds: {
    'http_reqs{status:404}': ['count==1'],
    'http_reqs{name:home}': ['count==2'],
    'http_req_failed{name:home}': ['rate==0'],
  },
};

export default function () {
  http.get(`${__ENV.BASE_URL}/echo?id=1`, { tags: { name: 'home' } });
  http.get(`${__ENV.BASE_URL}/echo?id=2`, { tags: { name: 'home' } });
  http.get(`${__ENV.BASE_URL}/status/404`);
}
