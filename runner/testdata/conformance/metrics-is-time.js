/*
expect:
  console: [info time default time]
  stdout: ['1.5']
*/
import { Counter, Trend } from 'k6/metrics';

const span = new Trend('span', true);
const plain = new Trend('plain');
const total = new Counter('total', true);

export default function () {
  span.add(1500);
  plain.add(1500);
  total.add(250);
}

export function handleSummary({ metrics }) {
  console.log(metrics.span.contains, metrics.plain.contains, metrics.total.contains);
}
