/*
args: [--out, csv=samples.csv]
expect:
  files: {samples.csv: ['metric_name,timestamp,metric_value,check', 'extra_tags,metadata', 'orders,', 'kind=a']}
*/
import { Counter } from 'k6/metrics';

const orders = new Counter('orders');

export default function () {
  orders.add(2, { kind: 'a' });
}
