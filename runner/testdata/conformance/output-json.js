/*
args: [--out, json=samples.ndjson]
expect:
  files: {samples.ndjson: ['"type":"Metric"', '"type":"Point"', '"metric":"orders"', '"kind":"a"', '"value":2']}
*/
import { Counter } from 'k6/metrics';

const orders = new Counter('orders');

export default function () {
  orders.add(2, { kind: 'a' });
}
