/*
expect:
  console: ['info {"a":"1"}', 'info {}', info redirect]
*/
import http from 'k6/http';

export default function () {
  const jar = new http.CookieJar();
  jar.set(__ENV.BASE_URL, 'a', '1', { path: '/', max_age: 100 });
  console.log(JSON.stringify(http.get(`${__ENV.BASE_URL}/echo`, { jar }).json('cookies')));
  console.log(JSON.stringify(http.get(`${__ENV.BASE_URL}/echo`).json('cookies')));
  console.log(http.get(`${__ENV.BASE_URL}/redirect-cookie`).json('cookies.via'));
}
