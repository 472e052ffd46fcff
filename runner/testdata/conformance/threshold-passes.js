/*
expect:
  counts: {orders: 3}
  files: {summary.json: ['"count>=3": false']}
*/
import { Counter } from 'k6/metrics';

const orders = new Counter('orders');

export const options = { iterations: 3, thresholds: { orders: ['count>=3', 'rate>0'], iterations: ['count===3'] } };

export default function () {
  orders.add(1);
}
