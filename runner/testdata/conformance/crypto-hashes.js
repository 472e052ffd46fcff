/*
expect:
  console:
    - info 5d41402abc4b2a76b9719d911017c592
    - info qvTGHdzF6KLavt4PO0gs2a6pQ00=
    - info 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
    - info true
*/
import crypto from 'k6/crypto';

export default function () {
  console.log(crypto.md5('hello', 'hex'));
  console.log(crypto.sha1('hello', 'base64'));
  const hash = crypto.createHash('sha256');
  hash.update('hel');
  hash.update('lo');
  console.log(hash.digest('hex'));
  console.log(crypto.sha512('hello', 'hex').length === 128 && crypto.sha384('hello', 'binary').byteLength === 48);
}
