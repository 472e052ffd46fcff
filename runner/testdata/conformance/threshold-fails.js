/*
expect:
  exit: 99
  counts: {orders: 1}
  stderr: [orders]
  files: {summary.json: ['"count>5": true', '"count<5": false']}
*/
import { Counter } from 'k6/metrics';

const orders = new Counter('orders');

export const options = { thresholds: { orders: ['count>5', 'count<5'] } };

export default function () {
  orders.add(1);
}
