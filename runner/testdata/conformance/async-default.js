/*
expect:
  counts: {iterations: 2}
  console: [info one, info two, info one, info two]
*/
export const options = { iterations: 2 };

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export default async function () {
  console.log('one');
  await wait(10);
  console.log('two');
}
