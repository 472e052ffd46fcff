/*
expect:
  console: [info 88aab3ede8d3adf94d26ab90d3bafd4a2083070c3bcce9c014ee04a443847c0b, info true, info 16 true]
*/
import crypto from 'k6/crypto';

export default function () {
  const text = crypto.hmac('sha256', 'secret', 'hello', 'hex');
  console.log(text);
  const h = crypto.createHMAC('sha256', 'secret');
  h.update('hello');
  console.log(h.digest('hex') === text);
  const bytes = crypto.randomBytes(16);
  console.log(bytes.byteLength, bytes instanceof ArrayBuffer);
}
