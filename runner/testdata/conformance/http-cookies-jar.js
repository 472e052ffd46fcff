/*
expect:
  console: ['info {"flavour":"oat"}', 'info oat', 'info ["oat"]', 'info {}']
*/
import http from 'k6/http';

export default function () {
  const url = `${__ENV.BASE_URL}/echo`;
  const set = http.get(`${__ENV.BASE_URL}/set-cookie?flavour=oat`);
  console.log(JSON.stringify(http.get(url).json('cookies')));
  console.log(set.cookies.flavour[0].value);
  const jar = http.cookieJar();
  console.log(JSON.stringify(jar.cookiesForURL(url).flavour));
  jar.clear(url);
  console.log(JSON.stringify(http.get(url).json('cookies')));
}
