/*
expect:
  rates: {lasted: [2, 0]}
  counts: {iterations: 2}
*/
import { sleep } from 'k6';
import { Rate } from 'k6/metrics';

const lasted = new Rate('lasted');

// Iterations that have begun may end within the graceful stop.
export const options = { scenarios: { load: { executor: 'constant-vus', vus: 2, duration: '1s', gracefulStop: '5s' } } };

export default function () {
  sleep(1.1);
  lasted.add(true);
}
