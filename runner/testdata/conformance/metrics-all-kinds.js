/*
ownStats: true
args: [--summary-trend-stats, 'avg,min,med,max,p(50),count']
expect:
  counts: {orders: 6}
  rates: {good: [2, 1]}
  values: {level value: 3, level min: -2, level max: 9, size avg: 2, size med: 2, size p(50): 2, size count: 3, good value: 0.6666666666666666}
*/
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const orders = new Counter('orders');
const level = new Gauge('level');
const good = new Rate('good');
const size = new Trend('size');

export default function () {
  [1, 2, 3].forEach((n) => orders.add(n));
  [9, -2, 3].forEach((n) => level.add(n));
  [true, 0, 5].forEach((n) => good.add(n));
  [1, 2, 3].forEach((n) => size.add(n));
}
