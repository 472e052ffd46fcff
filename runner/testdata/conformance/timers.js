/*
expect:
  console: [info now, info micro, info first a, info second, info third]
  counts: {iterations: 1}
*/
export default function () {
  setTimeout(() => console.log('second'), 30);
  setTimeout((x) => console.log('first', x), 5, 'a');
  const stopped = setTimeout(() => console.log('never'), 10);
  clearTimeout(stopped);
  let n = 0;
  const every = setInterval(() => {
    if (++n === 2) {
      clearInterval(every);
      console.log('third');
    }
  }, 40);
  Promise.resolve().then(() => console.log('micro'));
  console.log('now');
}
