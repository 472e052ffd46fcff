/*
args: [--tag, from=flag]
expect:
  counts: {'calls{from:flag}': 1}
*/
import { Counter } from 'k6/metrics';

const calls = new Counter('calls');

export const options = { tags: { from: 'script' }, thresholds: { 'calls{from:flag}': ['count==1'] } };

export default function () {
  calls.add(1);
}
