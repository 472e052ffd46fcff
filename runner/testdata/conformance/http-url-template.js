/*
expect:
  counts: {'http_reqs{name:http://host/users/${}}': 2}
  console: [info 0, info http://host/users/1 0]
*/
import http from 'k6/http';

export const options = {
  hosts: { host: '127.0.0.1:1' },
  thresholds: { 'http_reqs{name:http://host/users/${}}': ['count==2'] },
};

export default function () {
  console.log(http.get(http.url`http://host/users/${2}`).status);
  const res = http.get(http.url`http://host/users/${1}`);
  console.log(res.url, res.status);
}
