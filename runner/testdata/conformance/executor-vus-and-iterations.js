/*
expect:
  counts: {iterations: 7}
  rates: {checks: [7, 0]}
*/
import { check } from 'k6';
import exec from 'k6/execution';

export const options = { vus: 3, iterations: 7 };

export default function () {
  check(exec.scenario.executor, { 'shared-iterations': (name) => name === 'shared-iterations' });
}
