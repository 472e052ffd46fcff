// Metrics and thresholds: gate a policy by what it costs, and keep figures of
// your own beside the module's.
//
// All metrics of the module carry the tag policy, so that one run can compare
// two of them: the same server, the same load, and a threshold for each.
import { check } from 'k6';
import { Counter, Trend } from 'k6/metrics';
import { Policy, Downstream } from 'k6/x/resilience';

export const options = {
  vus: 10,
  iterations: 500,
  thresholds: {
    'resilience_success{policy:patient}': ['rate>0.9'],
    'resilience_amplification{policy:patient}': ['avg<1.7'],
    'resilience_success{policy:single}': ['rate>0.5'],
    'resilience_amplification{policy:single}': ['max<=1'], // it never retries
    orders_lost: ['count<50'],
    attempts_of_saved_orders: ['avg>=2'],
  },
};

const lost = new Counter('orders_lost');
const attemptsOfSaved = new Trend('attempts_of_saved_orders');

const single = new Policy({ name: 'single', guards: [{ timeout: '260ms' }] });
const patient = new Policy({
  name: 'patient',
  guards: [{ retry: { maxAttempts: 3, backoff: { initial: '5ms' }, jitter: 'full' } }, { timeout: '260ms' }],
});
const downstream = new Downstream({ scenario: 'random-failures', params: { delay: '5ms' }, seed: 1 });

export function setup() {
  return { url: downstream.url };
}

export default function ({ url }) {
  single.get(`${url}/call`);
  const order = patient.get(`${url}/call`);
  check(order, { 'order taken': (o) => o.ok });
  if (!order.ok) {
    lost.add(1, { code: order.error.code });
  } else if (order.attempts > 1) {
    attemptsOfSaved.add(order.attempts);
  }
}

export function teardown() {
  downstream.record();
}
