/*
expect:
  console: [info threw]
k6:
  because: k6 throws for some arguments and not for others; here the parameter throw holds for all that is wrong with a request
  console: [info nothing]
*/
import http from 'k6/http';

export default function () {
  try {
    http.get('http://a:port/', { throw: true });
    console.log('nothing');
  } catch (e) {
    console.log('threw');
  }
}
