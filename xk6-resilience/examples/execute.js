// Execute: a policy around anything that a script can do, whatever the
// protocol. Here it is a request of k6/http; a call of k6/net/grpc, a query of
// an SQL extension or a step in a browser look the same.
//
// The function runs on the virtual user's own thread, so nothing can take it
// back once it runs: pass attempt.timeoutMs on. It fails by throwing, by a
// response whose status is 0, 429 or from 500, or where isFailure says so.
import http from 'k6/http';
import { check } from 'k6';
import { Policy, Downstream } from 'k6/x/resilience';

export const options = {
  vus: 5,
  iterations: 100,
  thresholds: { resilience_success: ['rate>0.9'] },
};

const policy = new Policy({
  name: 'execute',
  guards: [{ retry: { maxAttempts: 4, backoff: { initial: '5ms' } } }, { timeout: '260ms' }],
});
const downstream = new Downstream({ scenario: 'random-failures', params: { delay: '5ms' }, seed: 1 });

export function setup() {
  return { url: downstream.url };
}

export default function ({ url }) {
  const out = policy.execute((attempt) =>
    http.post(`${url}/call`, JSON.stringify({ order: __ITER }), {
      timeout: attempt.timeoutMs,
      tags: { attempt: String(attempt.number) },
    }));
  check(out, { served: (o) => o.ok && o.response.status === 200 });

  let asked = 0;
  const done = policy.execute(() => ({ ready: ++asked === 3 }), { isFailure: (job) => !job.ready });
  check(done, { 'ready at the third look': (o) => o.ok && o.attempts === 3 });
}
