/*
expect:
  counts: {iterations: 1}
  stderr: [nobody handles this]
  console: [info before]
*/
export default function () {
  console.log('before');
  Promise.reject(new Error('nobody handles this'));
}
