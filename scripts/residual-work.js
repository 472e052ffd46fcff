// Every call takes 400 ms, and every attempt is given up after 260 ms: what
// does the server do with the work that nobody waits for any more?
//
// What to expect: no request succeeds, and each sends three calls. A server
// that ignores who has left works 400 ms for each of them, 1.2 s a request, of
// which 0.42 s are spent after the caller gave up. One that notices stops soon
// after 260 ms. A pool of connections bounds neither: a call that is given up
// gives its connection back at once, while the server goes on.
//
//   POOL   connections that all virtual users share   (default: each its own)
import { check, sleep } from 'k6';
import { Policy, Downstream } from 'k6/x/resilience';
import { options as shared } from './lib/scenario.js';

export const options = shared;

const pool = __ENV.POOL ? { maxConnections: Number(__ENV.POOL) } : undefined;
const policy = new Policy(__ENV.POLICY || 'immediate-retry', { pool });
const downstream = new Downstream({
  scenario: 'fixed-delay',
  params: { delay: '400ms' },
  url: __ENV.BASE_URL,
  cancellation: __ENV.CANCELLATION || 'ignore',
});

export function setup() {
  return { url: downstream.url };
}

export default function ({ url }) {
  const outcome = policy.get(`${url}/call`);
  check(outcome, { 'gave up': (o) => !o.ok });
  sleep(0.05);
}

export function teardown() {
  downstream.record();
}
