// Retry: a second and a third attempt for calls that fail now and then.
//
// Of the server's answers 35 % are 503. One attempt succeeds 65 % of the time,
// three reach 1 − 0.35³ = 95.7 % for 1.47 calls a request.
import { check } from 'k6';
import { Policy, Downstream } from 'k6/x/resilience';

export const options = {
  vus: 10,
  iterations: 500,
  thresholds: {
    resilience_success: ['rate>0.9'],
    resilience_amplification: ['avg<1.7'],
  },
};

const policy = new Policy({
  name: 'retry',
  guards: [
    { timeout: '2s' }, // the whole request
    { retry: { maxAttempts: 3, backoff: { initial: '10ms', multiplier: 2 }, jitter: 'full' } },
    { timeout: '260ms' }, // each attempt
  ],
});
const downstream = new Downstream({ scenario: 'random-failures', params: { delay: '5ms' }, seed: 1 });

export function setup() {
  return { url: downstream.url };
}

export default function ({ url }) {
  const out = policy.get(`${url}/call`);
  check(out, {
    served: (o) => o.ok,
    'no more than three calls': (o) => o.downstreamCalls <= 3,
  });
}
