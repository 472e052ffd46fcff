// Five orders, one after the other, through a payment gateway that never
// answers 60 % of the calls.
//
// What to expect: a call that is not answered in 1 s is given up and made again
// 500 ms later, and once more 1 s after that, each wait up to 20 % longer. So
// 1 − 0.6³ = 0.784 of the orders are paid, for (1 − 0.6³) / 0.4 = 1.96 calls
// each. Three orders in a row that fail open the breaker, and for 5 s orders are
// accepted as pending without any call.
//
//   POLICY     a named policy                   (default: payments)
//   BASE_URL   a server that runs already       (default: one in this process)
//   SEED       of the server in this process    (default: 1)
import { Downstream, Policy } from 'k6/x/resilience';

export const options = { vus: 1, iterations: 1 };

const orders = ['ORD-001', 'ORD-002', 'ORD-003', 'ORD-004', 'ORD-005'];

const policy = new Policy(__ENV.POLICY || 'payments', { logRetries: true });
const gateway = new Downstream({
  scenario: 'payments',
  url: __ENV.BASE_URL,
  seed: Number(__ENV.SEED || 1),
  cancellation: 'mid-work',
});

function pay(order) {
  const payment = policy.post(`${gateway.url}/call`, JSON.stringify({ order }), {
    headers: { 'Content-Type': 'application/json' },
  });
  if (payment.ok) {
    return `TXN-${order}-OK`;
  }
  if (payment.degraded) {
    return `PENDING-${order}`;
  }
  throw payment.error;
}

export default function () {
  for (const order of orders) {
    try {
      console.log(`${order}: ${pay(order)}`);
    } catch (error) {
      console.error(`${order}: ${error}`);
    }
  }
}

export function teardown() {
  gateway.record();
}
