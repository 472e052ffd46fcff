/*
args: [--no-thresholds]
expect:
  counts: {iterations: 1}
*/
export const options = { thresholds: { iterations: ['count>5'] } };

export default function () {}
