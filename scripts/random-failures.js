// Every call takes 120 ms, and 35 % of them fail with 503, each by itself.
//
// What to expect: one attempt succeeds 65 % of the time. Three attempts reach
// 1 − 0.35³ = 0.957 at (1 − 0.35³) / 0.65 = 1.4725 calls a request: here a
// retry buys what it costs. Backoff and jitter change the time, not the count.
import { options as shared, scenario } from './lib/scenario.js';

export const options = shared;

const { setup, turn, teardown } = scenario('random-failures');
export { setup, turn as default, teardown };
