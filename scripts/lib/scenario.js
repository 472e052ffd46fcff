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

// scenario makes the functions of a script that runs against this failure mode.
export function scenario(name) {
  const policy = new Policy(__ENV.POLICY || 'jitter');
  const downstream = new Downstream({
    scenario: name,
    url: __ENV.BASE_URL,
    seed: Number(__ENV.SEED || 1),
    cancellation: 'mid-work', // as the published experiment interrupted the calls it gave up
  });
  return {
    setup() {
      return { url: downstream.url };
    },
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
