/*
expect:
  counts: {'http_reqs{team:blue}': 2, 'http_reqs{page:a}': 1}
*/
import http from 'k6/http';

export const options = {
  tags: { team: 'blue' },
  thresholds: { 'http_reqs{team:blue}': ['count==2'], 'http_reqs{page:a}': ['count==1'] },
};

export default function () {
  http.get(`${__ENV.BASE_URL}/echo`, { tags: { page: 'a' } });
  http.get(`${__ENV.BASE_URL}/echo`);
}
