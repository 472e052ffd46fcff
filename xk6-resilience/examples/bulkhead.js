// Bulkhead: a bound on the calls that a caller has in flight.
//
// Twenty virtual users, and never more than four calls of theirs at once. One
// that finds no place waits up to 20 ms for it, and then its request ends.
import { Policy, Downstream } from 'k6/x/resilience';

export const options = {
  vus: 20,
  duration: '2s',
  thresholds: {
    'resilience_inflight{policy:bulkhead}': ['value<=4'],
    resilience_rejected_bulkhead: ['count>0'],
  },
};

const policy = new Policy({
  name: 'bulkhead',
  guards: [{ bulkhead: { maxConcurrent: 4, maxWait: '20ms' } }, { timeout: '260ms' }],
});
const downstream = new Downstream({ scenario: 'fixed-delay', params: { delay: '50ms' } });

export function setup() {
  return { url: downstream.url };
}

export default function ({ url }) {
  const out = policy.get(`${url}/call`);
  if (out.rejectedBy && out.rejectedBy !== 'bulkhead') {
    throw new Error(`refused by ${out.rejectedBy}`);
  }
}

export function teardown() {
  downstream.record(); // downstream_max_inflight: what the server saw
}
