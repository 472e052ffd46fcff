/*
expect:
  counts: {orders: 3, iterations: 1}
  console: [info true, info false, info false, info true, info false]
*/
import { Counter } from 'k6/metrics';

const orders = new Counter('orders');

export default function () {
  console.log(orders.add('2'));
  console.log(orders.add('many'));
  console.log(orders.add(null));
  console.log(orders.add(true));
  console.log(orders.add(undefined));
}
