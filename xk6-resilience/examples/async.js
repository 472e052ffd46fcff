// Async: a policy around an async function, and several requests of one
// virtual user at once.
import http from 'k6/http';
import { check } from 'k6';
import { Policy, Downstream } from 'k6/x/resilience';

export const options = {
  vus: 3,
  iterations: 30,
  thresholds: {
    checks: ['rate>0.95'],
    resilience_requests: ['count==90'],
  },
};

const policy = new Policy({
  name: 'async',
  guards: [{ retry: { maxAttempts: 4, backoff: { initial: '5ms' } } }, { timeout: '260ms' }],
});
const downstream = new Downstream({ scenario: 'random-failures', params: { delay: '20ms' }, seed: 1 });

export function setup() {
  return { url: downstream.url };
}

export default async function ({ url }) {
  const call = () =>
    policy.executeAsync((attempt) => http.asyncRequest('GET', `${url}/call`, null, { timeout: attempt.timeoutMs }));
  const outcomes = await Promise.all([call(), call(), call()]);
  for (const out of outcomes) {
    check(out, { served: (o) => o.ok });
  }
}
