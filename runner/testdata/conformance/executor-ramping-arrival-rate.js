/*
expect:
  counts: {iterations: 10}
  none: [dropped_iterations]
*/
export const options = {
  scenarios: {
    load: {
      executor: 'ramping-arrival-rate', startRate: 0, timeUnit: '1s', preAllocatedVUs: 5,
      stages: [{ duration: '1s', target: 20 }],
    },
  },
};

export default function () {}
