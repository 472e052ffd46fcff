/*
expect:
  counts: {started: 1}
  none: [ended, iterations]
*/
import { sleep } from 'k6';
import { Counter } from 'k6/metrics';

const started = new Counter('started');
const ended = new Counter('ended');

export const options = { scenarios: { load: { executor: 'constant-vus', vus: 1, duration: '1s', gracefulStop: '0s' } } };

export default function () {
  started.add(1);
  sleep(10);
  ended.add(1);
}
