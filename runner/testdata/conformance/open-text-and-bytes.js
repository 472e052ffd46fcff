/*
expect:
  console: ['info hello', info 6 104, info true]
*/
const text = open('./lib/hello.txt');
const bytes = open('./lib/hello.txt', 'b');

export default function () {
  console.log(text.trim());
  console.log(bytes.byteLength, new Uint8Array(bytes)[0]);
  console.log(bytes instanceof ArrayBuffer);
}
