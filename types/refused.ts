// What the types must refuse. A line that they accept is an error here.
import { Downstream, policies, Policy, scenarios } from 'k6/x/resilience';

const policy = new Policy('jitter');
const url = 'http://127.0.0.1:9000/call';

// @ts-expect-error
new Policy();
// @ts-expect-error
new Policy(7);
// @ts-expect-error
new Policy({ guards: [] });
// @ts-expect-error
new Policy({ name: 'x', guards: [{ retry: { maxAttempt: 3 } }] });
// @ts-expect-error
new Policy({ name: 'x', guards: [{ retry: { jitter: 'ful' } }] });
// @ts-expect-error
new Policy({ name: 'x', guards: [{ breaker: { window: { calls: '20' } } }] });
// @ts-expect-error
new Policy({ name: 'x', guards: [{ retry: { budget: { kind: 'quota', ratio: 0.1 } } }] });
// @ts-expect-error
new Policy('jitter', { pool: 3 });
// @ts-expect-error
Policy.parse(7);
// @ts-expect-error
policy.name = 'other';
// @ts-expect-error
policy.get(url, { header: {} });
// @ts-expect-error
policy.post(url, 7);
// @ts-expect-error
policy.execute(7);
// @ts-expect-error
policy.execute(() => 1, { isFailure: (s: string) => s === '' });
// @ts-expect-error
policy.state().breaker.open;
// @ts-expect-error
policy.get(url).error.code === 'timed out';
// @ts-expect-error
new Downstream({});
// @ts-expect-error
new Downstream({ scenario: 'outage', timeline: '10s outage' });
// @ts-expect-error
scenarios('outage');

// And what they must accept.
const outcome: number = policy.execute((attempt) => attempt.timeoutMs ?? 0).attempts;
const later: Promise<boolean> = policy.executeAsync(async () => ({ status: 200, body: '' })).then((o) => o.response.body === '');
new Policy({
  name: 'x',
  scope: 'vu',
  guards: [
    { fallback: (error) => `instead of ${error.code}` },
    { breaker: { window: { time: '10s' }, openFor: { initial: 1000, multiplier: 2 }, counts: ['5xx', 429] } },
    { retry: { jitter: { add: 0.2 }, retryAfter: { max: '5s' }, budget: { kind: 'window', name: 'all', ratio: 0.1 } } },
    { hedge: { after: { percentile: 95 } } },
  ],
}, { pool: { maxConnections: 20 }, logRetries: true });
new Downstream({ url: undefined, scenario: 'payments', seed: 1 });
new Downstream({ url });
for (const { definition } of policies()) {
  new Policy(definition);
}
export { later, outcome };
