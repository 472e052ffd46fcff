// Requests whose attempts are async functions.
import { Policy } from 'k6/x/resilience';
import { equal, options as shared, suite, throws, truthy } from './lib/suite.js';

export const options = shared;

const bare = new Policy({ name: 'async-bare', guards: [] });
const three = new Policy({ name: 'async-three', guards: [{ retry: { maxAttempts: 3 } }] });
const slow = new Policy({ name: 'async-slow', guards: [{ retry: { maxAttempts: 2, backoff: { initial: 30 } } }] });
const hedged = new Policy({ name: 'async-hedged', guards: [{ hedge: { after: 10 } }] });

const wrong = (f, text) => () => throws(f, 'TypeError', text);
const never = () => new Promise(() => {});
// a wait that needs no timer
const pause = () => slow.executeAsync(async () => { throw 1; });

export default suite('async', {
  'a promise of an outcome': async () => {
    const promise = bare.executeAsync(async () => ({ a: 1 }));
    truthy(promise instanceof Promise, 'a promise');
    const out = await promise;
    equal(Object.keys(out), ['ok', 'status', 'response', 'result', 'attempts', 'downstreamCalls', 'timeouts', 'rejectedBy',
      'degraded', 'waitedMs', 'durationMs', 'attemptMs', 'error']);
    equal([out.ok, out.result, out.attempts, out.attemptMs.length], [true, { a: 1 }, 1, 1]);
  },
  'a function that is not async': async () => equal((await bare.executeAsync(() => 7)).result, 7),
  'a rejection is a failure, and retried': async () => {
    let calls = 0;
    const out = await three.executeAsync(async ({ number }) => {
      calls++;
      await null;
      throw new RangeError(`boom ${number}`);
    });
    equal([calls, out.ok, out.attempts], [3, false, 3]);
    equal(out.error, { message: 'boom 3', name: 'RangeError', code: 'thrown', attempts: 3 });
    truthy(out.error.cause instanceof RangeError, 'cause');
  },
  'a throw before the promise': async () => equal((await three.executeAsync(() => { throw new Error('at once'); })).error.message, 'at once'),
  'a status counts': async () => {
    const out = await three.executeAsync(async () => ({ status: 503 }));
    equal([out.status, out.attempts, out.error.name], [503, 3, 'StatusError']);
  },
  'isFailure': async () => {
    const out = await three.executeAsync(async ({ number }) => number, { isFailure: (n) => n < 2, tags: { step: 'pay' } });
    equal([out.ok, out.result, out.attempts], [true, 2, 2]);
  },
  'isFailure that throws': async () => {
    const out = await bare.executeAsync(async () => 1, { isFailure: () => { throw new SyntaxError('bad'); } });
    equal(out.error.name, 'SyntaxError');
  },
  'isFailure that returns a promise': async () => {
    const { error } = await bare.executeAsync(async () => 1, { isFailure: async () => false });
    equal([error.name, error.message.slice(0, 46)], ['TypeError', 'isFailure must return a boolean; got a promise']);
  },
  'a status that throws where isFailure decides': async () => {
    const out = await bare.executeAsync(async () => ({ get status() { throw new Error('x'); }, a: 1 }), { isFailure: () => false });
    equal([out.ok, out.status, out.response, out.result.a], [true, 0, null, 1]);
  },
  'a status that throws': async () => {
    const out = await bare.executeAsync(async () => ({ get status() { throw new Error('x'); } }));
    equal([out.ok, out.error.message], [false, 'x']);
  },
  'a fallback with a status that throws': async () => {
    const p = new Policy({ name: 'async-status', guards: [{ fallback: () => ({ get status() { throw 1; } }) }] });
    const out = await p.executeAsync(() => { throw new Error('boom'); });
    equal([out.degraded, out.status, out.response, out.error.message], [true, 0, null, 'boom']);
  },
  'a promise whose then is no function': async () => {
    const p = Promise.resolve(4);
    p.then = 5;
    equal((await bare.executeAsync(() => p)).result, 4);
  },
  'a promise whose then throws': async () => {
    const p = Promise.resolve(4);
    p.then = () => { throw new Error('then'); };
    equal((await bare.executeAsync(() => p)).result, 4);
  },
  'a promise whose then cannot be read': async () => {
    const p = Object.defineProperty(Promise.resolve(4), 'then', { get() { throw new Error('then'); } });
    equal((await bare.executeAsync(() => p)).result, 4);
  },
  'a promise that cannot be awaited': async () => {
    const p = Object.defineProperty(Promise.resolve(4), 'constructor', { get() { throw new Error('constructor'); } });
    equal((await bare.executeAsync(() => p)).error.message, 'constructor');
  },
  'an object with a method then is awaited': async () => {
    equal((await bare.executeAsync(() => ({ then(ok) { ok(5); } }))).result, 5);
    equal((await bare.executeAsync(() => ({ then(ok, no) { no(new RangeError('no')); } }))).error.name, 'RangeError');
    equal((await bare.executeAsync(() => ({ then() { throw new RangeError('then'); } }))).error.message, 'then');
    equal((await bare.executeAsync(() => ({ get then() { throw new RangeError('get'); } }))).error.message, 'get');
    equal((await bare.executeAsync(() => ({ then: 5 }))).result, { then: 5 });
  },
  'a wait does not hold up the VU': async () => {
    const order = [];
    const waiting = pause().then(() => order.push('waited'));
    await bare.executeAsync(async () => order.push('meanwhile'));
    await waiting;
    equal(order, ['meanwhile', 'waited']);
  },
  'a wait is counted': async () => truthy((await pause()).waitedMs >= 30, 'waitedMs'),
  'many at once': async () => {
    const outs = await Promise.all(Array.from({ length: 20 }, (_, n) => three.executeAsync(async () => n)));
    equal(outs.map((o) => o.result), Array.from({ length: 20 }, (_, n) => n));
  },
  'a bulkhead bounds those at once': async () => {
    const p = new Policy({ name: 'async-bulkhead', guards: [{ bulkhead: { maxConcurrent: 1 } }] });
    const outs = await Promise.all([p.executeAsync(pause), p.executeAsync(pause)]);
    equal(outs.map((o) => o.rejectedBy).sort(), ['bulkhead', null]);
  },
  'a timeout gives up a promise that never settles': async () => {
    const p = new Policy({ name: 'async-timeout', guards: [{ retry: { maxAttempts: 2 } }, { timeout: 20 }] });
    const out = await p.executeAsync(never);
    equal([out.attempts, out.timeouts, out.error.name, out.error.code], [2, 2, 'TimeoutError', 'timeout']);
  },
  'what comes after a timeout is no answer': async () => {
    let late;
    const p = new Policy({ name: 'async-late', guards: [{ timeout: 5 }] });
    const out = await p.executeAsync(() => (late = pause().then(() => 'late')));
    equal([out.ok, out.result], [false, undefined]);
    equal(await late, 'late');
  },
  'a breaker counts': async () => {
    const p = new Policy({ name: 'async-breaker', guards: [{ breaker: { window: { consecutive: 1 }, openFor: '1h' } }] });
    await p.executeAsync(async () => ({ status: 500 }));
    equal([(await p.executeAsync(async () => 1)).rejectedBy, p.state().breaker.state], ['breaker', 'open']);
  },
  'a fallback function': async () => {
    const p = new Policy({ name: 'async-fallback', guards: [{ fallback: (e) => `instead of ${e.code} after ${e.attempts}` }, { retry: {} }] });
    const out = await p.executeAsync(async () => ({ status: 500 }));
    equal([out.degraded, out.result], [true, 'instead of http_5xx after 3']);
  },
  'an async fallback function': async () => {
    const p = new Policy({ name: 'async-async', guards: [{ fallback: async (e) => { await null; return e.name; } }] });
    equal((await p.executeAsync(async () => ({ status: 500 }))).result, 'StatusError');
  },
  'a fallback function that rejects': async () => {
    const p = new Policy({ name: 'async-nothing', guards: [{ fallback: async () => { throw new Error('nor this'); } }] });
    const out = await p.executeAsync(async () => ({ status: 500 }));
    equal(out.degraded, false);
    truthy(out.error.message.includes('nor this'), out.error.message);
  },
  'one in another': async () => equal((await three.executeAsync(async () => (await bare.executeAsync(async () => 7)).result)).result, 7),

  'no function': wrong(() => bare.executeAsync(), 'policy.executeAsync takes a function (attempt) => result; got undefined'),
  'a promise instead': wrong(() => bare.executeAsync(Promise.resolve(1)), 'got a promise'),
  'an unknown option': wrong(() => bare.executeAsync(async () => 1, { timeout: 5 }), 'policy.executeAsync: unknown option "timeout"; known are: isFailure, tags'),
  'a policy that hedges': wrong(() => hedged.executeAsync(async () => 1), 'policy "async-hedged" hedges, which works for HTTP calls only'),
});
