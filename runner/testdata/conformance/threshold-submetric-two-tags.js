/*
expect:
  counts: {'orders{kind:a,place:x}': 1, orders: 4}
*/
import { Counter } from 'k6/metrics';

const orders = new Counter('orders');

export const options = { thresholds: { 'orders{kind:a,place:x}': ['count==1'] } };

export default function () {
  orders.add(1, { kind: 'a', place: 'x' });
  orders.add(1, { kind: 'a', place: 'y' });
  orders.add(1, { kind: 'b', place: 'x' });
  orders.add(1);
}
