// Every call takes 220 ms and succeeds.
//
// What to expect: a timeout of 260 ms never fires, so every policy with it
// has a success rate above 0.99 and an amplification of 1. The timeout of
// no-retry-low-timeout (180 ms) is shorter than the answer takes: below 0.01
// succeeds, though the server is well. Retries would change nothing but the
// number of calls.
import { options as shared, scenario } from './lib/scenario.js';

export const options = shared;

const { setup, turn, teardown } = scenario('fixed-delay');
export { setup, turn as default, teardown };
