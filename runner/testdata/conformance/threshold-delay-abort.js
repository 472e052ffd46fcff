/*
expect:
  exit: 99
  counts: {iterations: 1}
*/
import { sleep } from 'k6';
import { Counter } from 'k6/metrics';

const bad = new Counter('bad');

// The run is over before it may be aborted.
export const options = {
  thresholds: { bad: [{ threshold: 'count<1', abortOnFail: true, delayAbortEval: '1m' }] },
};

export default function () {
  bad.add(1);
  sleep(2.3);
}
