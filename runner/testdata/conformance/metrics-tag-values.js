/*
expect:
  counts: {'orders{kind:1}': 1, 'orders{kind:true}': 2, orders: 3}
*/
import { Counter } from 'k6/metrics';

const orders = new Counter('orders');

export const options = { thresholds: { 'orders{kind:1}': ['count==1'], 'orders{kind:true}': ['count==2'] } };

export default function () {
  orders.add(1, { kind: 1 });
  orders.add(2, { kind: true });
}
