/*
args: [--iterations, '3']
env: {K6_ITERATIONS: '5'}
expect:
  counts: {iterations: 3}
*/
export const options = { iterations: 7 };

export default function () {}
