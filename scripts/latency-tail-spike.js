// Every call takes 90 ms, but every 6th takes 650 ms.
//
// What to expect: without a retry the calls in the tail time out, which
// leaves 5/6 = 0.833. A retry most likely meets a quick answer: above 0.99
// for an amplification of 1.2. The price is in the latency of those that had
// to wait for the timeout first.
import { options as shared, scenario } from './lib/scenario.js';

export const options = shared;

const { setup, turn, teardown } = scenario('latency-tail-spike');
export { setup, turn as default, teardown };
