/*
expect:
  counts: {iterations: 1}
  stderr: [in the timer]
  console: []
*/
export default function () {
  setTimeout(() => {
    throw new Error('in the timer');
  }, 1);
  setTimeout(() => console.log('dropped'), 50);
}
