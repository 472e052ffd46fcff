/*
expect:
  counts: {iterations: 1}
  console: [info threw]
*/
export default function () {
  try {
    open('./lib/hello.txt');
  } catch (e) {
    console.log('threw');
  }
}
