/*
expect:
  counts: {iterations: 1}
*/
import { Counter, Trend } from 'k6/metrics';

const never = new Counter('never_added');
const trend = new Trend('never_taken');

// A threshold that saw nothing passes.
export const options = { thresholds: { never_taken: ['avg<5'], 'http_req_duration{name:nobody}': ['p(95)<5'] } };

export default function () {}
