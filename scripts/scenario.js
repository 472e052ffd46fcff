// Any failure mode of the server, for those that have no script of their own.
// `scenarios()` of k6/x/resilience lists them with their parameters, as
// docs/downstream.md does.
//
//   SCENARIO   a failure mode                       (default: outage)
//   PARAMS     its parameters, as JSON              (default: its own)
//   TIMELINE   phases, as '10s outage for 5s', separated by ';' (default: none)
//
// and what lib/scenario.js reads.
import { options as shared, scenario } from './lib/scenario.js';

export const options = shared;

const { setup, turn, teardown } = scenario(__ENV.SCENARIO || 'outage', {
  params: JSON.parse(__ENV.PARAMS || '{}'),
  timeline: __ENV.TIMELINE ? __ENV.TIMELINE.split(';') : undefined,
});
export { setup, turn as default, teardown };
