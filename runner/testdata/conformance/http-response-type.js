/*
expect:
  console: [info true 4 3, info null, info string, info none null 200]
*/
import http from 'k6/http';

export default function () {
  const url = `${__ENV.BASE_URL}/bytes/4`;
  const binary = http.get(url, { responseType: 'binary' });
  console.log(binary.body instanceof ArrayBuffer, binary.body.byteLength, new Uint8Array(binary.body)[3]);
  console.log(http.get(url, { responseType: 'none' }).body);
  console.log(typeof http.get(url, { responseType: 'text' }).body);
  const res = http.get(url, { responseType: 'none' });
  console.log('none', res.body, res.status);
}
