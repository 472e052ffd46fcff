/*
expect:
  counts: {'calls{scenario:a}': 1, 'calls{kind:odd}': 2, calls: 3}
*/
import { Counter } from 'k6/metrics';

const calls = new Counter('calls');

export const options = {
  scenarios: {
    a: { executor: 'shared-iterations', iterations: 1, tags: { kind: 'even' } },
    b: { executor: 'shared-iterations', iterations: 2, tags: { kind: 'odd' } },
  },
  thresholds: { 'calls{scenario:a}': ['count==1'], 'calls{kind:odd}': ['count==2'] },
};

export default function () {
  calls.add(1);
}
