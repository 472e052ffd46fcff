// Policies: how they are made, what they refuse, their state.
import { Policy } from 'k6/x/resilience';
import { caught, equal, options as shared, suite, throws, truthy } from './lib/suite.js';

export const options = shared;

const file = `
- name: from-a-file
  guards:
    - retry: {maxAttempts: 2}
    - breaker: {window: {consecutive: 2}, openFor: 1h}
- name: another
  guards: []
`;
const json = '[{"name": "from-json", "guards": [{"bulkhead": {"maxConcurrent": 3}}]}]';
const fail = () => ({ status: 503 });
const inInit = caught(() => new Policy('jitter').execute(() => 1));
const asyncInInit = caught(() => new Policy('jitter').executeAsync(async () => 1));

const wrong = (f, text) => () => throws(f, 'TypeError', text);

export default suite('policy', {
  'by name': () => {
    const p = new Policy('circuit-breaker');
    truthy(p instanceof Policy, 'instanceof');
    equal(p.name, 'circuit-breaker');
    equal(Policy.name, 'Policy');
  },
  'by object': () => {
    const p = new Policy({ name: 'by-object', guards: [{ retry: { maxAttempts: 2 } }] });
    equal(p.execute(fail).attempts, 2);
  },
  'from the text of a file, by name': () => {
    const p = Policy.parse(file, 'from-a-file');
    truthy(p instanceof Policy, 'instanceof');
    equal(p.execute(fail).attempts, 2);
  },
  'from the text of a file with one policy': () => equal(Policy.parse(json).state().bulkhead, { available: 3, waiting: 0 }),
  'from a file, with options': () => equal(Policy.parse(json, 'from-json', { logRetries: true }).name, 'from-json'),
  'of the same name share their state': () => {
    const make = () => new Policy({ name: 'twins', guards: [{ breaker: { window: { consecutive: 1 }, openFor: '1h' } }] });
    make().execute(fail);
    equal(make().state().breaker.state, 'open');
  },
  'of the scope vu share it with nobody': () => {
    const make = () => new Policy({ name: 'loners', scope: 'vu', guards: [{ breaker: { window: { consecutive: 1 }, openFor: '1h' } }] });
    make().execute(fail);
    equal(make().state().breaker.state, 'closed');
  },
  'properties cannot be written': () => {
    const p = new Policy('jitter');
    caught(() => { p.name = 'other'; });
    equal(p.name, 'jitter');
  },
  'options that are not set': () => {
    new Policy('jitter', undefined);
    new Policy('jitter', null);
    new Policy('jitter', { pool: undefined, logRetries: undefined });
  },
  'keys that are not set': () => {
    const p = new Policy({ name: 'unset', scope: undefined, guards: [
      { retry: { maxAttempts: undefined, jitter: undefined, budget: undefined, backoff: { initial: undefined } } },
      { fallback: { value: { a: null }, body: undefined, on: undefined } },
    ] });
    const out = p.execute(fail);
    equal([out.degraded, out.result], [true, { a: null }]);
    equal(new Policy({ name: 'unset-too', guards: [{ retry: { maxAttempts: undefined } }] }).execute(fail).attempts, 3);
  },
  'state without guards': () => equal(new Policy({ name: 'bare', guards: [] }).state(), { inflight: 0 }),
  'state of a breaker': () => {
    const p = new Policy({ name: 'counted', guards: [{ breaker: { window: { calls: 10 }, minCalls: 10 } }] });
    p.execute(() => 1);
    p.execute(fail);
    equal(p.state().breaker, { state: 'closed', calls: 2, failures: 1, slow: 0 });
  },
  'state of a budget': () => {
    const p = new Policy({ name: 'tokens', guards: [{ retry: { budget: { kind: 'tokens', max: 4 } } }] });
    equal(p.state().budget.balance, 4);
    const out = p.execute(fail);
    equal([out.attempts, out.rejectedBy, p.state().budget.balance], [2, 'budget', 2]);
  },
  'a budget is shared by its name': () => {
    const make = (name) => new Policy({ name, guards: [{ retry: { budget: { kind: 'tokens', max: 4, name: 'both' } } }] });
    const a = make('sharer-a');
    const b = make('sharer-b');
    a.execute(fail);
    equal(b.state().budget.balance, 2);
  },
  'state of a throttle': () => equal(new Policy({ name: 'throttled', guards: [{ throttle: {} }] }).state().throttle.probability, 0),
  'state of a call in flight': () => {
    const p = new Policy({ name: 'flying', guards: [{ bulkhead: { maxConcurrent: 1 } }] });
    const seen = p.execute(() => p.state()).result;
    equal(seen, { inflight: 1, bulkhead: { available: 0, waiting: 0 } });
    equal(p.state(), { inflight: 0, bulkhead: { available: 1, waiting: 0 } });
  },
  'a state is a snapshot': () => {
    const p = new Policy({ name: 'snapshot', guards: [{ breaker: { window: { consecutive: 1 }, openFor: '1h' } }] });
    const before = p.state();
    p.execute(fail);
    equal([before.breaker.state, p.state().breaker.state], ['closed', 'open']);
  },
  'reset closes a breaker and fills a budget': () => {
    const p = new Policy({ name: 'again', guards: [
      { retry: { budget: { kind: 'quota', capacity: 5 } } },
      { breaker: { window: { consecutive: 2 }, openFor: '1h' } },
    ] });
    p.execute(fail);
    equal([p.state().breaker.state, p.state().budget.balance], ['open', 0]);
    equal(p.reset(), undefined);
    equal([p.state().breaker.state, p.state().budget.balance], ['closed', 5]);
  },

  'no argument': wrong(() => new Policy(), "new Policy takes a policy's name or an object {name, guards}; got 0 arguments"),
  'too many arguments': wrong(() => new Policy('jitter', {}, 1), 'got 3 arguments'),
  'a number': wrong(() => new Policy(7), 'got the number 7'),
  'a boolean': wrong(() => new Policy(true), 'got the boolean true'),
  'null': wrong(() => new Policy(null), 'got null'),
  'undefined': wrong(() => new Policy(undefined), 'got undefined'),
  'an array': wrong(() => new Policy([]), 'got an array'),
  'a function': wrong(() => new Policy(() => 'jitter'), 'got a function'),
  'a symbol': wrong(() => new Policy(Symbol('jitter')), 'got a symbol'),
  'an unknown name': wrong(() => new Policy('100%jitter'), 'unknown policy "100%jitter", known are: no-retry-low-timeout, '),
  'no name': wrong(() => new Policy({ guards: [] }), 'name: is missing'),
  'every fault is told': wrong(() => new Policy({ name: 'x', guard: [], guards: [{ retry: { jitter: 'ful', maxAttempts: 0 } }] }), '3 faults'),
  'a path and the choices': wrong(() => new Policy({ name: 'x', guards: [{ retry: { jitter: 'ful' } }] }), 'guards[0].retry.jitter: "ful" is none of none, full, equal'),
  'a name in use': wrong(() => new Policy({ name: 'jitter', guards: [] }) && new Policy('jitter'), 'policy "jitter" is in use with other guards'),
  'a budget in use': wrong(() => {
    new Policy({ name: 'b1', guards: [{ retry: { budget: { kind: 'tokens', name: 'taken' } } }] });
    new Policy({ name: 'b2', guards: [{ retry: { budget: { kind: 'quota', name: 'taken' } } }] });
  }, 'budget "taken" is in use with other settings'),
  'two functions as fallbacks': wrong(() => new Policy({ name: 'x', guards: [{ fallback: () => 1 }, { fallback: () => 2 }] }), 'one fallback of a policy can be a function'),
  'options of another type': wrong(() => new Policy('jitter', 7), 'new Policy: its options must be an object {pool, logRetries}; got the number 7'),
  'an unknown option': wrong(() => new Policy('jitter', { pools: 1 }), 'unknown option "pools"; known are: pool, logRetries'),
  'logRetries of another type': wrong(() => new Policy('jitter', { logRetries: 'yes' }), 'logRetries must be a boolean; got the string "yes"'),
  'a pool of another type': wrong(() => new Policy('jitter', { pool: 3 }), 'pool must be an object {maxConnections}; got the number 3'),
  'a pool with an unknown key': wrong(() => new Policy('jitter', { pool: { max: 3 } }), 'pool: unknown key "max"'),
  'a pool without a size': wrong(() => new Policy('jitter', { pool: {} }), 'pool.maxConnections must be a whole number in 1 … 100000; got null'),
  'a pool of half a connection': wrong(() => new Policy('jitter', { pool: { maxConnections: 0.5 } }), 'got the number 0.5'),
  'a pool of none': wrong(() => new Policy('jitter', { pool: { maxConnections: 0 } }), 'pool.maxConnections: 0 is not in 1 … 100000'),
  'a pool of another size': wrong(() => {
    new Policy('aws-standard', { pool: { maxConnections: 2 } });
    new Policy('aws-standard', { pool: { maxConnections: 3 } });
  }, 'the pool of policy "aws-standard" has 2 connections already, not 3'),
  'a pool where others have none': wrong(() => {
    new Policy({ name: 'poolless', guards: [] });
    new Policy({ name: 'poolless', guards: [] }, { pool: { maxConnections: 1 } });
  }, 'the pool of policy "poolless" has 0 connections already, not 1 (0 is no pool): give this policy another name'),
  'no pool where others have one': wrong(() => {
    new Policy({ name: 'pn', guards: [] }, { pool: { maxConnections: 1 } });
    new Policy({ name: 'pn', guards: [] });
  }, 'the pool of policy "pn" has 1 connections already, not 0'),
  'a function for a guard': wrong(() => new Policy({ name: 'x', guards: [{ retry: () => 1 }] }), 'guards[0].retry: a function is not an object'),
  'functions for values': wrong(() => new Policy({ name: 'x', guards: [{ retry: { maxAttempts: () => 1, jitter() {} } }] }), 'guards[0].retry.jitter: a function is none of'),
  'a class for a value': wrong(() => new Policy({ name: 'x', guards: [{ timeout: class {} }] }), 'guards[0].timeout: a function is no duration'),
  'parse of another type': wrong(() => Policy.parse(7), 'Policy.parse takes the text of a policy file, as open() gives it; got the number 7'),
  'parse of nothing': wrong(() => Policy.parse(''), 'Policy.parse: holds no policy'),
  'parse of no policy': wrong(() => Policy.parse('name: x'), 'Policy.parse: is not a list of policies'),
  'parse names every fault': wrong(() => Policy.parse('[{"name": "x", "guards": [{"retri": {}}, {"timeout": "soon"}]}]'), 'Policy.parse: 2 faults'),
  'parse without a name of several': wrong(() => Policy.parse(file), 'the text holds 2 policies: say which by its name'),
  'parse of an unknown name': wrong(() => Policy.parse(file, 'nope'), 'unknown policy "nope", known are: from-a-file, another'),
  'parse with a name of another type': wrong(() => Policy.parse(file, {}), "the second argument must be a policy's name; got an object"),
  'execute in the init context': () => {
    equal([inInit.name, inInit.message], ['TypeError', 'policy.execute: no calls can be made in the init context']);
  },
  'executeAsync in the init context': () => {
    equal([asyncInInit.name, asyncInInit.message], ['TypeError', 'policy.executeAsync: no calls can be made in the init context']);
  },
});
