/*
expect:
  counts: {iterations: 1}
  console: [info threw]
*/
import { Counter } from 'k6/metrics';

export default function () {
  try {
    new Counter('too_late');
  } catch (e) {
    console.log('threw');
  }
}
