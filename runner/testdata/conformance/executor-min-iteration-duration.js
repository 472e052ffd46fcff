/*
expect:
  counts: {iterations: 2}
  rates: {waited: [1, 0]}
*/
import exec from 'k6/execution';
import { Rate } from 'k6/metrics';

const waited = new Rate('waited');

export const options = { iterations: 2, minIterationDuration: '300ms' };

export default function () {
  if (__ITER === 1) waited.add(exec.instance.currentTestRunDuration >= 300);
}
