/*
args: [--throw]
expect:
  counts: {iterations: 1}
  console: [info threw]
*/
import { Counter } from 'k6/metrics';

const orders = new Counter('orders');

export default function () {
  try {
    orders.add('many');
  } catch (e) {
    console.log('threw');
  }
}
