/*
expect:
  counts: {iterations: 10, numbers: 10}
  values: {numbers min: 0, numbers max: 9, numbers avg: 4.5}
*/
import exec from 'k6/execution';
import { Trend } from 'k6/metrics';

const numbers = new Trend('numbers');

export const options = { scenarios: { load: { executor: 'per-vu-iterations', vus: 5, iterations: 2 } } };

export default function () {
  numbers.add(exec.scenario.iterationInTest);
}
