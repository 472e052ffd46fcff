/*
expect:
  exit: 99
  console: [info torn down]
varies: [iterations, iteration_duration, bad]
*/
import { sleep } from 'k6';
import { Counter } from 'k6/metrics';

const bad = new Counter('bad');

export const options = {
  vus: 1,
  duration: '30s',
  thresholds: { bad: [{ threshold: 'count<1', abortOnFail: true }] },
};

export default function () {
  bad.add(1);
  sleep(0.5);
}

export function teardown() {
  console.log('torn down');
}
