// Budget: retries that cannot multiply the load of an outage.
//
// Everything fails. Without a budget each request would send three calls. This
// one allows one retry for every ten requests and one a second besides, for
// all virtual users together.
import { Policy, Downstream } from 'k6/x/resilience';

export const options = {
  vus: 10,
  iterations: 500,
  thresholds: {
    resilience_amplification: ['avg<1.2'],
    resilience_rejected_budget: ['count>0'], // retries that were wanted and not made
  },
};

const policy = new Policy({
  name: 'budget',
  guards: [
    { retry: { maxAttempts: 3, budget: { kind: 'window', ratio: 0.1, minPerSecond: 1 } } },
    { timeout: '260ms' },
  ],
});
const downstream = new Downstream({ scenario: 'random-failures', params: { delay: '5ms', failureRate: 1 } });

export function setup() {
  return { url: downstream.url };
}

export default function ({ url }) {
  policy.get(`${url}/call`);
}

export function teardown() {
  console.log(`left in the budget: ${policy.state().budget.balance}`);
}
