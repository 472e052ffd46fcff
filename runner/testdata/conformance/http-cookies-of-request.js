/*
expect:
  console: [info mine jar, info mine, 'info {"only":"jar"}']
*/
import http from 'k6/http';

export default function () {
  const url = `${__ENV.BASE_URL}/echo`;
  http.cookieJar().set(__ENV.BASE_URL, 'only', 'jar');
  const both = http.get(url, { cookies: { extra: 'mine' } }).json('cookies');
  console.log(both.extra, both.only);
  console.log(http.get(url, { cookies: { only: { value: 'mine', replace: true } } }).json('cookies.only'));
  console.log(JSON.stringify(http.get(url).json('cookies')));
}
