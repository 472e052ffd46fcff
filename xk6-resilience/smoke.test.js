// One iteration that shows that a k6 build has the extension in it and that it
// works: no server elsewhere, no argument.
import { check } from 'k6';
import { Policy, Downstream } from 'k6/x/resilience';

export const options = {
  vus: 1,
  iterations: 1,
  thresholds: { checks: ['rate==1'] },
};

const policy = new Policy('immediate-retry');
const downstream = new Downstream({ scenario: 'random-failures', params: { delay: '1ms', failureRate: 1 } });

export default function () {
  const out = policy.get(`${downstream.url}/call`);
  check(out, {
    'three attempts': (o) => o.attempts === 3 && o.downstreamCalls === 3,
    'the last answer': (o) => !o.ok && o.status === 503 && o.error.code === 'http_5xx',
    'the server has seen them': () => downstream.stats().received === 3,
  });
}
