// One request a turn to a caller that runs as a service (`retrylab serve`), for
// a stock k6 or any runner of its scripts: nothing here needs the extension.
//
// What to expect: the figures of the policies' own scripts, seen from outside.
// A request that its policy could not save is a 503, so k6's http_req_failed is
// the share of requests that failed, and not of attempts.
//
//   BASE_URL   of the service    (default: http://127.0.0.1:8080)
//   POLICY     a named policy    (default: jitter)
//   SCENARIO   a failure mode    (default: random-failures)
import http from 'k6/http';
import { check, sleep } from 'k6';
import { Counter, Rate, Trend } from 'k6/metrics';

export const options = {
  vus: Number(__ENV.K6_VUS || 40),
  duration: __ENV.K6_DURATION || '10s',
  summaryTrendStats: ['avg', 'min', 'med', 'max', 'p(90)', 'p(95)', 'p(99)', 'count'],
};

const base = __ENV.BASE_URL || 'http://127.0.0.1:8080';
const work = `${base}/api/work?policy=${__ENV.POLICY || 'jitter'}&scenario=${__ENV.SCENARIO || 'random-failures'}`;

const successful = new Counter('successful_requests');
const failed = new Counter('failed_requests');
const calls = new Counter('downstream_calls');
const timeouts = new Counter('timeout_count');
const breakerRejected = new Counter('circuit_breaker_rejected');
const bulkheadRejected = new Counter('bulkhead_rejected');
const requestFailed = new Rate('request_failed');
const amplification = new Trend('retry_amplification_factor');
const retries = new Trend('retry_attempts_per_request');
const attemptLatency = new Trend('all_attempt_latency', true);
const successLatency = new Trend('successful_request_latency', true);

export function setup() {
  const reset = http.post(`${base}/api/reset`);
  if (reset.status !== 200) {
    throw new Error(`no service at ${base}: POST /api/reset gave ${reset.status} ${reset.error}`);
  }
}

export default function () {
  const response = http.get(work);
  const cost = (header) => Number(response.headers[header] || 0);
  const ok = check(response, { served: (r) => r.status === 200 });
  (ok ? successful : failed).add(1);
  requestFailed.add(!ok);
  calls.add(cost('X-Downstream-Calls'));
  timeouts.add(cost('X-Timeout-Count'));
  breakerRejected.add(cost('X-Circuit-Breaker-Rejected'));
  bulkheadRejected.add(cost('X-Bulkhead-Rejected'));
  amplification.add(cost('X-Downstream-Calls'));
  retries.add(Math.max(cost('X-Attempts') - 1, 0));
  for (const ms of (response.headers['X-Attempt-Latencies-Ms'] || '').split(',').filter(Boolean)) {
    attemptLatency.add(Number(ms));
  }
  if (ok) {
    successLatency.add(response.timings.duration);
  }
  sleep(0.05);
}

export function teardown() {
  const metrics = http.get(`${base}/api/metrics`).json();
  console.log(`the service's own account: ${JSON.stringify(metrics)}`);
}
