/*
args: [--iterations, '2']
expect:
  counts: {iterations: 2}
  console: [info default, info default]
*/
import exec from 'k6/execution';

export const options = { scenarios: { load: { executor: 'shared-iterations', iterations: 9 } } };

export default function () {
  console.log(exec.scenario.name);
}
