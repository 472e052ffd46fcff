/*
expect:
  counts: {iterations: 3, buys: 2, reads: 1}
*/
import { Counter } from 'k6/metrics';

const buys = new Counter('buys');
const reads = new Counter('reads');

export const options = {
  scenarios: {
    buyers: { executor: 'shared-iterations', iterations: 2, exec: 'buy' },
    readers: { executor: 'shared-iterations', iterations: 1, exec: 'read' },
  },
};

export function buy() {
  buys.add(1);
}

export function read() {
  reads.add(1);
}
