/*
env: {K6_ITERATIONS: '5', K6_VUS: '2'}
expect:
  counts: {iterations: 5}
*/
export const options = { iterations: 7, vus: 1 };

export default function () {}
