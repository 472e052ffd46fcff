/*
args: [--stage, '1s:1', --vus, '1']
varies: [iterations, iteration_duration]
expect:
  values: {seen max: 1}
*/
import { sleep } from 'k6';
import { Trend } from 'k6/metrics';

const seen = new Trend('seen');

export default function () {
  if (__ITER === 0) seen.add(__VU);
  sleep(0.3);
}
