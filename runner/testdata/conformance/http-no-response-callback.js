/*
expect:
  counts: {http_reqs: 2}
  rates: {http_req_failed: [1, 0]}
*/
import http from 'k6/http';

export default function () {
  http.get(`${__ENV.BASE_URL}/status/404`, { responseCallback: null });
  http.setResponseCallback(http.expectedStatuses(200));
  http.get(`${__ENV.BASE_URL}/status/404`);
}
