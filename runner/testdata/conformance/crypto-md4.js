/*
expect:
  console: [info threw]
k6:
  because: md4 and ripemd160 are not in the built-in runner, which says so
  console: [info 866437cb7a794bce2b727acc0362ee27]
*/
import crypto from 'k6/crypto';

export default function () {
  try {
    console.log(crypto.md4('hello', 'hex'));
  } catch (e) {
    console.log('threw');
  }
}
