/*
expect:
  rates: {checks: [12, 0]}
*/
import { check } from 'k6';
import http from 'k6/http';

export default function () {
  const res = http.get(`${__ENV.BASE_URL}/echo?q=1`);
  check(res, {
    status: (r) => r.status === 200,
    status_text: (r) => r.status_text === '200 OK',
    proto: (r) => r.proto === 'HTTP/1.1',
    url: (r) => r.url === `${__ENV.BASE_URL}/echo?q=1`,
    remote_ip: (r) => r.remote_ip === '127.0.0.1',
    remote_port: (r) => r.remote_port > 0,
    error: (r) => r.error === '' && r.error_code === 0,
    tls: (r) => r.tls_version === '' && r.tls_cipher_suite === '',
    timings: (r) => ['blocked', 'connecting', 'duration', 'looking_up', 'receiving', 'sending', 'tls_handshaking', 'waiting']
      .every((key) => typeof r.timings[key] === 'number' && r.timings[key] >= 0),
    'duration is the sum': (r) => Math.abs(r.timings.duration - r.timings.sending - r.timings.waiting - r.timings.receiving) < 0.01,
    request: (r) => r.request.method === 'GET' && r.request.url === r.url && r.request.body === '',
    'request headers are lists': (r) => Array.isArray(r.request.headers['User-Agent']),
  });
}
