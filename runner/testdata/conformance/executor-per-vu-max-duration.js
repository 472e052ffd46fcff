/*
expect:
  counts: {iterations: 2, dropped_iterations: 4}
*/
import { sleep } from 'k6';

export const options = {
  scenarios: { load: { executor: 'per-vu-iterations', vus: 2, iterations: 3, maxDuration: '1s', gracefulStop: '3s' } },
};

export default function () {
  sleep(1.2);
}
