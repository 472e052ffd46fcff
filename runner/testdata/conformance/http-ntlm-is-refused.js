/*
expect:
  console: [info threw]
  none: [http_reqs]
k6:
  because: NTLM is not in the built-in runner, which says so
  console: [info 200]
  none: []
*/
import http from 'k6/http';

export default function () {
  try {
    console.log(http.get(__ENV.BASE_URL.replace('http://', 'http://a:b@') + '/echo', { auth: 'ntlm' }).status);
  } catch (e) {
    console.log('threw');
  }
}
