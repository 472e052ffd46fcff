// Breaker: no calls to a server that is down.
//
// The server refuses everything for the first two seconds. After ten failed
// calls the breaker opens, and requests end at once; every half second it lets
// one call through to see. Once the server is back it closes again.
import { sleep } from 'k6';
import { Policy, Downstream } from 'k6/x/resilience';

export const options = {
  vus: 5,
  duration: '4s',
  thresholds: {
    resilience_rejected_breaker: ['count>50'], // calls that the sick server was spared
    resilience_breaker_transitions: ['count>=3'], // open, half-open, closed
    resilience_success: ['rate>0.2'], // it came back
  },
};

const policy = new Policy({
  name: 'breaker',
  guards: [
    { breaker: { window: { calls: 20 }, failureRate: 0.5, minCalls: 10, openFor: '500ms', halfOpen: { calls: 1 } } },
    { timeout: '260ms' },
  ],
});
const downstream = new Downstream({
  scenario: 'fixed-delay',
  params: { delay: '5ms' },
  timeline: ['0s outage mode=503 for 2s'],
});

export function setup() {
  return { url: downstream.url };
}

export default function ({ url }) {
  policy.get(`${url}/call`);
  sleep(0.05);
}

export function teardown() {
  console.log(`the breaker is ${policy.state().breaker.state}`);
}
