/*
expect:
  counts: {iterations: 12, numbers: 12}
  values: {numbers min: 0, numbers max: 11, numbers avg: 5.5}
*/
import exec from 'k6/execution';
import { Trend } from 'k6/metrics';

const numbers = new Trend('numbers');

export const options = {
  scenarios: { load: { executor: 'shared-iterations', vus: 4, iterations: 12, maxDuration: '10s' } },
};

export default function () {
  numbers.add(exec.scenario.iterationInTest);
}
