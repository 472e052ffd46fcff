/*
expect:
  console: [info threw]
  none: [http_reqs]
k6:
  because: k6 leaves headers that are no object out; here a parameter of a wrong type is an error, as a typing error must not change what is sent
  console: [info nothing]
  none: []
*/
import http from 'k6/http';

export default function () {
  try {
    http.get(`${__ENV.BASE_URL}/echo`, { headers: 5, throw: true });
    console.log('nothing');
  } catch (e) {
    console.log('threw');
  }
}
