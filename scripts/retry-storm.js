// A server of 200 calls a second, asked by 140 requests a second, slows down to a
// tenth for three seconds and is well again: does the service come back?
//
// What to expect: without retries the queue that has gathered is worked off and
// all is well some seconds later. With three attempts the callers that give up
// send 420 calls a second, more than the server can do: the queue stays full of
// calls that nobody waits for any more, and the retries alone keep it so for ever.
// A retry budget or a circuit breaker takes the load away, and it recovers.
//
// The load is open: requests begin at their rate, whatever becomes of those before.
//
//   RATE       requests a second                    (default: 140)
//   DURATION   how long                             (default: 20s)
//
// and of what lib/scenario.js reads POLICY, BASE_URL and SEED.
import { options as shared, scenario } from './lib/scenario.js';

const rate = Number(__ENV.RATE || 140);

export const options = {
  summaryTrendStats: shared.summaryTrendStats,
  scenarios: {
    storm: {
      executor: 'constant-arrival-rate',
      rate, timeUnit: '1s', duration: __ENV.DURATION || '20s',
      preAllocatedVUs: 2 * rate, // a request takes about a second at the most
    },
  },
};

const { setup, turn, teardown } = scenario('brownout', {
  params: { servers: 20, service: '100ms', queue: 1000, from: '3s', until: '6s', factor: 0.1 },
  cancellation: 'ignore', // as most servers do
});
export { setup, turn as default, teardown };
