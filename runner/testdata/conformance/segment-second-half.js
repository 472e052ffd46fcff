/*
args: [--execution-segment, '1/2:1']
expect:
  counts: {iterations: 4, ids: 4}
  rates: {checks: [4, 0]}
*/
import { check } from 'k6';
import exec from 'k6/execution';
import { Trend } from 'k6/metrics';

const ids = new Trend('ids');

export const options = { scenarios: { load: { executor: 'per-vu-iterations', vus: 4, iterations: 2 } } };

export default function () {
  ids.add(exec.vu.idInTest);
  check(exec.vu, { 'here they are two': (vu) => vu.idInInstance === 1 || vu.idInInstance === 2 });
}
