/*
varies: [iterations, iteration_duration, seen, checks]
expect:
  values: {seen max: 2}
*/
import { sleep } from 'k6';
import { Trend } from 'k6/metrics';

const seen = new Trend('seen');

export const options = {
  scenarios: {
    load: { executor: 'ramping-vus', startVUs: 1, stages: [{ duration: '500ms', target: 2 }, { duration: '500ms', target: 2 }], gracefulRampDown: '0s' },
  },
};

export default function () {
  seen.add(__VU);
  sleep(0.1);
}
