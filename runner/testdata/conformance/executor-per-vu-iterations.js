/*
expect:
  counts: {iterations: 6, ids: 6}
  rates: {checks: [6, 0]}
  values: {ids min: 1, ids max: 3, ids avg: 2}
*/
import { check } from 'k6';
import { Trend } from 'k6/metrics';

const ids = new Trend('ids');

export const options = { scenarios: { load: { executor: 'per-vu-iterations', vus: 3, iterations: 2 } } };

export default function () {
  ids.add(__VU);
  check(__ITER, { 'two each': (n) => n === 0 || n === 1 });
}
