/*
expect:
  counts: {http_reqs: 3, 'http_reqs{group:::setup}': 1, 'http_reqs{group:::teardown}': 1}
*/
import http from 'k6/http';

export const options = { thresholds: { 'http_reqs{group:::setup}': ['count==1'], 'http_reqs{group:::teardown}': ['count==1'] } };

export function setup() {
  http.get(`${__ENV.BASE_URL}/echo`);
}

export default function () {
  http.get(`${__ENV.BASE_URL}/echo`);
}

export function teardown() {
  http.get(`${__ENV.BASE_URL}/echo`);
}
