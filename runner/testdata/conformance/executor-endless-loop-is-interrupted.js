/*
expect:
  counts: {started: 1}
  none: [iterations]
*/
import { Counter } from 'k6/metrics';

const started = new Counter('started');

export const options = { scenarios: { load: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s' } } };

export default function () {
  started.add(1);
  for (;;) {}
}
