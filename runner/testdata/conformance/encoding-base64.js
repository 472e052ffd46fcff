/*
expect:
  console: ['info aGVsbG8/', 'info aGVsbG8_', 'info aGk= aGk', 'info hello?', 'info 2 104']
*/
import encoding from 'k6/encoding';

export default function () {
  console.log(encoding.b64encode('hello?'));
  console.log(encoding.b64encode('hello?', 'url'));
  console.log(encoding.b64encode('hi'), encoding.b64encode('hi', 'rawstd'));
  console.log(encoding.b64decode('aGVsbG8/', 'std', 's'));
  const bytes = new Uint8Array(encoding.b64decode('aGk='));
  console.log(bytes.length, bytes[0]);
}
