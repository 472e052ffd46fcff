/*
env: {COUNT: '4'}
expect:
  counts: {iterations: 4}
*/
export const options = { iterations: parseInt(__ENV.COUNT) };

export default function () {}
