/*
expect:
  counts: {iterations: 10}
  none: [dropped_iterations]
*/
export const options = {
  scenarios: {
    load: {
      executor: 'ramping-arrival-rate', startRate: 0, timeUnit: '1s', preAllocatedVUs: 5,
      stages: [{ duration: '1s', target: 21 }], // 10.5 are due, none at the very end
    },
  },
};

export default function () {}
