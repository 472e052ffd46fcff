/*
expect:
  console: [info 1 2 3]
  counts: {iterations: 1}
k6:
  because: k6's engine reads no for await and no async generators; the built-in runner rewrites them
  exit: 107
  console: []
  counts: {iterations: null}
*/
async function* numbers() {
  for (const n of [1, 2, 3]) yield n;
}

export default async function () {
  const seen = [];
  for await (const n of numbers()) seen.push(n);
  console.log(seen.join(' '));
}
