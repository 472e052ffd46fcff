/*
expect:
  exit: 107
*/
// A file that the first run of the init code did not open cannot be had later.
const text = __VU === 0 ? '' : open('./lib/hello.txt');

export default function () {}
