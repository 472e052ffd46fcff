/*
expect:
  counts: {iterations: 1, dropped_iterations: 2}
*/
import { sleep } from 'k6';

// What maxDuration leaves no time for is dropped.
export const options = {
  scenarios: { load: { executor: 'shared-iterations', vus: 1, iterations: 3, maxDuration: '1s', gracefulStop: '3s' } },
};

export default function () {
  sleep(1.2);
}
