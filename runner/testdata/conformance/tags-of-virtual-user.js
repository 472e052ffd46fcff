/*
expect:
  counts: {'calls{step:one}': 1, 'calls{step:2}': 1, calls: 3}
  console: [info one undefined]
*/
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';

const calls = new Counter('calls');

export const options = { thresholds: { 'calls{step:one}': ['count==1'], 'calls{step:2}': ['count==1'] } };

export default function () {
  exec.vu.metrics.tags.step = 'one';
  calls.add(1);
  const seen = exec.vu.metrics.tags.step;
  exec.vu.metrics.tags.step = 2;
  calls.add(1);
  delete exec.vu.metrics.tags.step;
  calls.add(1);
  console.log(seen, exec.vu.metrics.tags.step);
}
