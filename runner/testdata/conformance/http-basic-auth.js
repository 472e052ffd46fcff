/*
expect:
  console: [info 200, info 401]
*/
import http from 'k6/http';

export default function () {
  const at = (credentials) => __ENV.BASE_URL.replace('http://', `http://${credentials}@`);
  console.log(http.get(`${at('ada:secret')}/basic/ada/secret`).status);
  console.log(http.get(`${at('ada:wrong')}/basic/ada/secret`, { auth: 'basic' }).status);
}
