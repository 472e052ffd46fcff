/*
expect:
  rates: {flags: [3, 1]}
  values: {size value: 4, size min: 1, size max: 4, times med: 2.5}
*/
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const count = new Counter('things');
const size = new Gauge('size');
const flags = new Rate('flags');
const times = new Trend('times');

export const options = {
  thresholds: {
    things: ['count==10', 'rate>0'],
    size: ['value==4'],
    flags: ['rate==0.75', 'rate>0.5'],
    times: ['avg==2.5', 'min==1', 'max==4', 'med==2.5', 'p(90)<4', 'p(100) <= 4', 'p(99.9)>3.9', ' avg != 3 '],
  },
};

export default function () {
  for (const n of [1, 2, 3, 4]) {
    count.add(n);
    size.add(n);
    flags.add(n < 4);
    times.add(n);
  }
}
