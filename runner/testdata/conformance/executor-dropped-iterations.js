/*
expect:
  counts: {iterations: 1, dropped_iterations: 10}
  stderr: [load]
*/
import { sleep } from 'k6';

// One virtual user that is busy all the time.
export const options = {
  scenarios: {
    load: { executor: 'constant-arrival-rate', rate: 10, duration: '1050ms', preAllocatedVUs: 1, maxVUs: 1 },
  },
};

export default function () {
  sleep(1.1);
}
