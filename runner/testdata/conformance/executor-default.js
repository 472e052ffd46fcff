/*
expect:
  counts: {iterations: 1}
  console: [info default per-vu-iterations]
  none: [http_reqs, checks, dropped_iterations, vus_unknown]
*/
import exec from 'k6/execution';

export default function () {
  console.log(exec.scenario.name, exec.scenario.executor);
}
