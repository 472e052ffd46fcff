// The n-th call takes 80 + 3·n ms, 900 ms at the most: the more calls, the
// slower the server gets.
//
// What to expect: after 60 calls every answer takes longer than the timeout
// of 260 ms. Retries then send up to three calls a request (amplification
// near 3) and gain nothing. The circuit breaker refuses nearly all calls, so
// its requests end at once and there are many more of them: amplification
// below 0.05. A bulkhead bounds what is in flight, not what is sent.
import { options as shared, scenario } from './lib/scenario.js';

export const options = shared;

const { setup, turn, teardown } = scenario('progressive-degradation');
export { setup, turn as default, teardown };
