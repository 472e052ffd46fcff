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
//
// and what lib/scenario.js reads.
import { options as shared, scenario } from './lib/scenario.js';

export const options = shared;

const { setup, turn, teardown } = scenario('fixed-delay', {
  params: { delay: '400ms' },
  cancellation: __ENV.CANCELLATION || 'ignore',
}, {
  policy: 'immediate-retry',
  pool: __ENV.POOL ? { maxConnections: Number(__ENV.POOL) } : undefined,
});
export { setup, turn as default, teardown };
