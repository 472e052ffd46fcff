// What the scenarios share: one policy, one failing server, one request and a
// short pause a turn, as in the published experiment.
//
//   POLICY       a named policy                     (default: jitter)
//   BASE_URL     a server that runs already         (default: one in this process)
//   SEED         of the server in this process      (default: 1)
//   K6_VUS       virtual users                      (default: 40)
//   K6_DURATION  how long                           (default: 10s)
import { check, sleep } from 'k6';
import { Policy, Downstream } from 'k6/x/resilience';

const PAUSE = 0.05; // seconds between two requests of a virtual user

// options are the options that every scenario exports.
export const options = {
  vus: Number(__ENV.K6_VUS || 40),
  duration: __ENV.K6_DURATION || '10s',
  summaryTrendStats: ['avg', 'min', 'med', 'max', 'p(90)', 'p(95)', 'p(99)', 'count'],
};

/**
 * scenario makes the functions of a script that runs against this failure mode.
 *
 * @param {string} name
 * @param {Partial<import('k6/x/resilience').DownstreamOptions>} [more] of the server
 * @param {{ policy?: string } & import('k6/x/resilience').PolicyOptions} [use] the policy where POLICY names none, and its options
 */
export function scenario(name, more = {}, use = {}) {
  const { policy: usual = 'jitter', ...choices } = use;
  const policy = new Policy(__ENV.POLICY || usual, choices);
  const downstream = new Downstream({
    scenario: name,
    url: __ENV.BASE_URL,
    seed: Number(__ENV.SEED || 1),
    cancellation: 'mid-work', // as the published experiment interrupted the calls it gave up
    ...more,
  });
  return {
    setup() {
      return { url: downstream.url };
    },
    /** @param {{ url: string }} data */
    turn({ url }) {
      const outcome = policy.get(`${url}/call`);
      check(outcome, { served: (o) => o.ok });
      sleep(PAUSE);
    },
    teardown() {
      downstream.record(); // the server's own account, as downstream_* metrics
    },
  };
}
