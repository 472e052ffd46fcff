/*
expect:
  counts: {orders: 3}
*/
import { Counter } from 'k6/metrics';

const orders = new Counter('orders');

export default function () {
  orders.add(5);
  orders.add(-2);
}
