/*
expect:
  counts: {'calls{vu:1}': 2, 'calls{iter:1}': 1}
k6:
  because: k6 keeps vu and iter apart from the tags, as metadata, and thresholds cannot select by them
  exit: 99
  counts: {'calls{vu:1}': 0, 'calls{iter:1}': 0}
*/
import { Counter } from 'k6/metrics';

const calls = new Counter('calls');

export const options = {
  iterations: 2,
  systemTags: ['vu', 'iter'],
  thresholds: { 'calls{vu:1}': ['count==2'], 'calls{iter:1}': ['count==1'] },
};

export default function () {
  calls.add(1);
}
