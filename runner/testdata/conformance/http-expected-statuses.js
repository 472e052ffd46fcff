/*
expect:
  rates: {http_req_failed: [1, 3]}
  counts: {'http_reqs{expected_response:true}': 3, 'http_reqs{expected_response:false}': 1}
*/
import http from 'k6/http';

http.setResponseCallback(http.expectedStatuses(404, { min: 500, max: 503 }));

export const options = {
  thresholds: { 'http_reqs{expected_response:true}': ['count==3'], 'http_reqs{expected_response:false}': ['count==1'] },
};

export default function () {
  http.get(`${__ENV.BASE_URL}/status/404`);
  http.get(`${__ENV.BASE_URL}/status/502`);
  http.get(`${__ENV.BASE_URL}/status/200`);
  http.get(`${__ENV.BASE_URL}/status/200`, { responseCallback: http.expectedStatuses(200) });
}
