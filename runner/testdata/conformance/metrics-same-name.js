/*
expect:
  counts: {orders: 3}
  console: [info other kind]
*/
import { Counter, Gauge } from 'k6/metrics';

const one = new Counter('orders');
const two = new Counter('orders');
let kind = 'same';
try {
  new Gauge('orders');
} catch (e) {
  kind = 'other kind';
}

export default function () {
  one.add(1);
  two.add(2);
  console.log(kind);
}
