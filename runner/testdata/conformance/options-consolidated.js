/*
ownStats: true
expect:
  console:
    - info shared-iterations 2 p(99) {"a":"b"}
    - info true
*/
import exec from 'k6/execution';

export const options = {
  vus: 2, iterations: 2, tags: { a: 'b' }, summaryTrendStats: ['p(99)'], setupTimeout: '5s',
};

export default function () {
  if (exec.scenario.iterationInTest !== 0) return;
  const o = exec.test.options;
  console.log(o.scenarios.default.executor, o.scenarios.default.vus, o.summaryTrendStats.join(), JSON.stringify(o.tags));
  console.log(Object.isFrozen(o) && Object.isFrozen(o.scenarios));
}
