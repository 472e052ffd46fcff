/*
expect:
  exit: 99
  counts: {orders: 3, 'orders{kind:a}': 2, 'orders{kind:b}': 1}
*/
import { Counter } from 'k6/metrics';

const orders = new Counter('orders');

export const options = { thresholds: { 'orders{kind:a}': ['count==2'], 'orders{kind:b}': ['count>1'] } };

export default function () {
  orders.add(2, { kind: 'a' });
  orders.add(1, { kind: 'b' });
}
