/*
expect:
  console: [info first, info second]
  rates: {late: [1, 0]}
*/
import exec from 'k6/execution';
import { Rate } from 'k6/metrics';

const late = new Rate('late');

export const options = {
  scenarios: {
    b: { executor: 'shared-iterations', startTime: '700ms', exec: 'second' },
    a: { executor: 'shared-iterations', exec: 'first' },
  },
};

export function first() {
  console.log('first');
}

export function second() {
  console.log('second');
  late.add(exec.instance.currentTestRunDuration >= 700);
}
