/*
expect:
  console: [info 1111, info 1110]
  counts: {http_reqs: 2}
*/
import http from 'k6/http';

export const options = { blockHostnames: ['*.example.com'], blacklistIPs: ['10.0.0.0/8'] };

export default function () {
  console.log(http.get('http://a.example.com/').error_code);
  console.log(http.get('http://10.1.2.3/').error_code);
}
