/*
args: [--summary-time-unit, ms]
expect:
  stdout: ['1500.00ms']
*/
import { Trend } from 'k6/metrics';

const spans = new Trend('spans', true);

export default function () {
  spans.add(1500);
}
