/*
args: [--execution-segment, '0:1/4', --execution-segment-sequence, '0,1/4,1/2,3/4,1']
expect:
  counts: {iterations: 3}
*/
export const options = { scenarios: { load: { executor: 'shared-iterations', vus: 4, iterations: 12 } } };

export default function () {}
