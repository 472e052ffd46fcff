/*
expect:
  counts: {iterations: 1}
  stderr: [went wrong]
*/
export default async function () {
  await null;
  throw new Error('went wrong');
}
