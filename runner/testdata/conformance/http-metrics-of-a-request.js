/*
expect:
  counts:
    http_reqs: 1
    http_req_duration: 1
    http_req_blocked: 1
    http_req_connecting: 1
    http_req_tls_handshaking: 1
    http_req_sending: 1
    http_req_waiting: 1
    http_req_receiving: 1
    'http_req_duration{expected_response:true}': 1
  rates: {http_req_failed: [0, 1]}
*/
import http from 'k6/http';

export default function () {
  http.get(`${__ENV.BASE_URL}/echo`);
}
