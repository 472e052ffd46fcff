// The failing server, and the lists of what there is.
import { Downstream, policies, Policy, scenarios } from 'k6/x/resilience';
import { caught, equal, options as shared, suite, throws, truthy } from './lib/suite.js';

export const options = shared;

const quick = { scenario: 'fixed-delay', params: { delay: 0 } };
const down = new Downstream({ ...quick, name: 'js-downstream' });
const bare = new Policy({ name: 'downstream-bare', guards: [] });
const inInit = caught(() => down.stats());

const wrong = (f, text) => () => throws(f, 'TypeError', text);

export default suite('downstream', {
  'a URL on loopback, the same each time': () => {
    truthy(down instanceof Downstream, 'instanceof');
    truthy(/^http:\/\/127\.0\.0\.1:\d+$/.test(down.url), down.url);
    equal(new Downstream({ ...quick, name: 'js-downstream' }).url, down.url);
  },
  'starts with its first use': () => {
    new Downstream({ ...quick, name: 'js-later' });
    truthy(new Downstream({ ...quick, params: { delay: 1 }, name: 'js-later' }).url, 'the name was free until now');
  },
  'stats and reset': () => {
    down.reset();
    bare.get(`${down.url}/call`);
    const stats = down.stats();
    equal([stats.scenario, stats.received, stats.finished], ['fixed-delay', 1, 1]);
    equal(down.reset(), undefined);
    equal(down.stats().received, 0);
  },
  'record returns the account': () => {
    down.reset();
    bare.get(`${down.url}/call`);
    equal(down.record().received, 1);
  },
  'setScenario': () => {
    const d = new Downstream({ ...quick, name: 'js-set' });
    equal(bare.get(`${d.url}/call`).status, 200);
    equal(d.setScenario({ scenario: 'random-failures', params: { delay: 0, failureRate: 1 }, seed: 7, cancellation: 'mid-work' }), undefined);
    equal([bare.get(`${d.url}/call`).status, d.stats().scenario, d.stats().seed], [503, 'random-failures', 7]);
    d.setScenario({ scenario: 'fixed-delay', params: { delay: 0 }, timeline: ['0s outage mode=503 for 1h'] });
    equal(bare.get(`${d.url}/call`).status, 503);
  },
  'a timeline': () => {
    const d = new Downstream({ ...quick, name: 'js-timeline', timeline: ['0s outage mode=503 for 1h'] });
    equal(bare.get(`${d.url}/call`).status, 503);
  },
  'tiers': () => {
    const d = new Downstream({
      scenario: 'random-failures', params: { delay: 0, failureRate: 1 }, name: 'js-tiers',
      tiers: [{ policy: 'immediate-retry' }, { policy: { name: 'tier', guards: [{ retry: { maxAttempts: 2 } }] }, passDeadline: true }],
    });
    bare.get(`${d.url}/call`);
    const { received, tiers } = d.stats();
    equal([received, tiers.map((t) => [t.policy, t.received, t.calls])], [6, [['immediate-retry', 1, 3], ['tier', 3, 6]]]);
  },
  'a server that runs already': () => {
    const other = new Downstream({ url: `${down.url}/` });
    equal(other.url, down.url);
    equal(other.stats().scenario, 'fixed-delay');
  },
  'a server that is not there': () => {
    const e = throws(() => new Downstream({ url: 'http://127.0.0.1:1' }).stats(), 'DownstreamError', 'downstream.stats: GET http://127.0.0.1:1/stats: ');
    truthy(e instanceof Error, 'instanceof');
    equal(new Downstream({ url: 'http://127.0.0.1:1' }).record(), null);
  },
  'policies': () => {
    const list = policies();
    truthy(list.length >= 13, 'all of them');
    const breaker = list.find((p) => p.name === 'circuit-breaker');
    equal(Object.keys(breaker), ['name', 'description', 'definition']);
    equal(breaker.description, 'retry > breaker > timeout, 3 attempts of at most 260ms');
    equal(list.find((p) => p.name === 'retry-budget').description, 'retry > timeout, 3 attempts of at most 260ms, window budget');
  },
  'a definition makes the policy': () => {
    for (const { name, definition } of policies()) {
      equal(new Policy(definition).name, name);
      equal(new Policy({ ...definition, name: `copy-of-${name}` }).name, `copy-of-${name}`);
    }
  },
  'scenarios': () => {
    const list = scenarios();
    equal(list.length, 14);
    const { name, description, params } = list.find((s) => s.name === 'payments');
    truthy(name === 'payments' && description.length > 0, 'described');
    equal(params.map((p) => p.name), ['delay', 'hangRate', 'hang']);
    equal(Object.keys(params[0]), ['name', 'type', 'default', 'range', 'description']);
  },
  'lists are copies': () => {
    policies()[0].name = 'other';
    equal(policies()[0].name, 'no-retry-low-timeout');
  },

  'stats in the init context': () => equal([inInit.name, inInit.message], ['TypeError', 'downstream.stats: no calls can be made in the init context']),
  'no argument': wrong(() => new Downstream(), 'new Downstream takes an object {scenario, params, timeline, tiers, seed, cancellation, name} or {url, token}; got 0 arguments'),
  'another type': wrong(() => new Downstream('fixed-delay'), 'got the string "fixed-delay"'),
  'no scenario': wrong(() => new Downstream({}), 'new Downstream: scenario: is missing; known are fixed-delay, '),
  'an unknown scenario': wrong(() => new Downstream({ scenario: 'nope' }), 'unknown scenario "nope"; known are fixed-delay, '),
  'a scenario of another type': wrong(() => new Downstream({ scenario: 7 }), 'scenario: must be a string; got the number 7'),
  'an unknown key': wrong(() => new Downstream({ ...quick, parms: {} }), 'parms: unknown key; known are: scenario, params'),
  'parameters of another type': wrong(() => new Downstream({ scenario: 'fixed-delay', params: 7 }), 'params: must be an object; got the number 7'),
  'an unknown parameter': wrong(() => new Downstream({ scenario: 'fixed-delay', params: { dealy: 1 } }), 'dealy'),
  'a seed that cannot be': wrong(() => new Downstream({ ...quick, seed: -1 }), 'seed: must be a whole number from 0; got the number -1'),
  'a cancellation that cannot be': wrong(() => new Downstream({ ...quick, cancellation: 'now' }), '"now"'),
  'a timeline of another type': wrong(() => new Downstream({ ...quick, timeline: '10s outage' }), "timeline: must be an array of strings such as '10s outage for 5s'; got the string \"10s outage\""),
  'a phase that cannot be': wrong(() => new Downstream({ ...quick, timeline: ['10s nope'] }), 'timeline[0]: '),
  'tiers that cannot be': wrong(() => new Downstream({ ...quick, tiers: [{ policy: 'nope' }] }), 'known are: no-retry-low-timeout, '),
  'a URL that is not absolute': wrong(() => new Downstream({ url: 'nope' }), 'url: "nope" is not an absolute http or https URL'),
  'a URL that is not of HTTP': wrong(() => new Downstream({ url: 'ftp://x' }), 'url: "ftp://x" is not an absolute http or https URL'),
  'a name in use': wrong(() => new Downstream({ scenario: 'fixed-delay', params: { delay: 5 }, name: 'js-downstream' }).url,
    'downstream.url: downstream "js-downstream" runs with another scenario or other tiers: give this one another name'),
  'setScenario of another type': wrong(() => down.setScenario('outage'), 'downstream.setScenario takes an object {scenario, params, timeline, seed, cancellation}; got the string "outage"'),
  'setScenario with an unknown key': wrong(() => down.setScenario({ scenario: 'outage', name: 'x' }), 'unknown key "name"; known are: scenario, params, timeline, seed, cancellation'),
  'setScenario to an unknown one': wrong(() => down.setScenario({ scenario: 'nope' }), 'downstream.setScenario: unknown scenario "nope"'),
});
