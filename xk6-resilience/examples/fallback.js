// Fallback: a degraded answer where there is no good one.
//
// Half of the calls fail, and a price from the list stands in for them. Such a
// request is degraded: it counts as no success, and says why.
import { check } from 'k6';
import { Policy, Downstream } from 'k6/x/resilience';

export const options = {
  vus: 5,
  iterations: 200,
  thresholds: {
    checks: ['rate==1'],
    resilience_fallbacks: ['count>50'],
    resilience_success: ['rate<0.7'],
  },
};

const listPrice = 42;
const policy = new Policy({
  name: 'fallback',
  guards: [
    { fallback: (error) => ({ price: listPrice, because: error.code }) },
    { timeout: '260ms' },
  ],
});
const downstream = new Downstream({ scenario: 'random-failures', params: { delay: '5ms', failureRate: 0.5 }, seed: 1 });

export function setup() {
  return { url: downstream.url };
}

export default function ({ url }) {
  const out = policy.get(`${url}/call`);
  check(out, {
    'answered or degraded': (o) => o.ok !== o.degraded,
    'degraded answers say why': (o) => o.ok || (o.result.price === listPrice && o.result.because === 'http_5xx'),
  });
}
