/*
expect:
  counts: {iterations: 21}
  none: [dropped_iterations]
*/
export const options = {
  scenarios: {
    load: { executor: 'constant-arrival-rate', rate: 20, timeUnit: '1s', duration: '1020ms', preAllocatedVUs: 5 },
  },
};

export default function () {}
