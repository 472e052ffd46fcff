/*
expect:
  counts: {iterations: 5, dropped_iterations: 1}
  values: {ids max: 5}
*/
import { sleep } from 'k6';
import { Trend } from 'k6/metrics';

const ids = new Trend('ids');

// Up to maxVUs are made where the ones before are all busy; the iteration that
// there was none for is dropped.
export const options = {
  scenarios: {
    load: { executor: 'constant-arrival-rate', rate: 5, duration: '1100ms', preAllocatedVUs: 4, maxVUs: 6 },
  },
};

export default function () {
  ids.add(__VU);
  sleep(1.1);
}
