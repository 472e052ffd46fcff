/*
ownStats: true
expect:
  values: {spans min: 1, spans p(50): 5.5, spans p(90): 9.1, spans count: 10}
  stdout: [p(90)]
*/
import { Trend } from 'k6/metrics';

const spans = new Trend('spans');

export const options = { summaryTrendStats: ['min', 'p(50)', 'p(90)', 'count'] };

export default function () {
  for (let i = 1; i <= 10; i++) spans.add(i);
}
