// Hedge: a second call where the first one takes unusually long.
//
// Every sixth answer takes 650 ms instead of 20 ms. After 60 ms a second call
// goes out, the first answer wins and the other call is cancelled: the slow
// tail is gone, for one more call in six requests.
import { check } from 'k6';
import { Policy, Downstream } from 'k6/x/resilience';

export const options = {
  vus: 5,
  iterations: 300,
  thresholds: {
    resilience_request_duration: ['p(95)<400'],
    resilience_hedges: ['count>10'],
    resilience_amplification: ['avg<1.5'],
  },
};

const policy = new Policy({
  name: 'hedge',
  guards: [{ timeout: '2s' }, { hedge: { after: '60ms', max: 1 } }],
});
const downstream = new Downstream({
  scenario: 'latency-tail-spike',
  params: { delay: '20ms' },
  cancellation: 'mid-work', // the server drops the work of the call that lost
});

export function setup() {
  return { url: downstream.url };
}

export default function ({ url }) {
  check(policy.get(`${url}/call`), { served: (o) => o.ok });
}
