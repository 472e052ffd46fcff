/*
expect:
  console: [info threw]
*/
export default function () {
  try {
    require('./lib/values.js');
  } catch (e) {
    console.log('threw');
  }
}
