// Requests of any protocol: the attempts are calls of a function.
import { Policy } from 'k6/x/resilience';
import { equal, options as shared, suite, throws, truthy } from './lib/suite.js';

export const options = shared;

const bare = new Policy({ name: 'execute-bare', guards: [] });
const three = new Policy({ name: 'execute-three', guards: [{ retry: { maxAttempts: 3 } }] });
const hedged = new Policy({ name: 'execute-hedged', guards: [{ hedge: { after: 10 } }] });

const wrong = (f, text) => () => throws(f, 'TypeError', text);
const codeOf = (result) => bare.execute(() => result).error.code;

export default suite('execute', {
  'a value is a success': () => {
    const out = bare.execute(() => ({ a: [1] }));
    equal([out.ok, out.result, out.status, out.response, out.error], [true, { a: [1] }, 0, null, null]);
  },
  'nothing is a success too': () => equal([bare.execute(() => {}).ok, bare.execute(() => null).result], [true, undefined]),
  'the function knows its attempt': () => {
    const seen = [];
    new Policy({ name: 'execute-info', guards: [{ retry: { maxAttempts: 2 } }, { timeout: '1m' }] }).execute((attempt) => {
      seen.push([attempt.number, attempt.kind, attempt.timeoutMs > 59000]);
      return { status: 500 };
    });
    equal(seen, [[1, 'first', true], [2, 'retry', true]]);
  },
  'what it throws is a failure, and retried': () => {
    let calls = 0;
    const out = three.execute(() => {
      calls++;
      throw new RangeError('boom');
    });
    equal([calls, out.ok, out.attempts], [3, false, 3]);
    equal(out.error, { message: 'boom', name: 'RangeError', code: 'thrown', attempts: 3 });
    truthy(out.error instanceof Error && out.error.cause instanceof RangeError, 'the cause is what was thrown');
  },
  'what it throws need not be an Error': () => {
    const { error } = bare.execute(() => { throw 'text'; });
    equal([error.name, error.message, error.cause], ['Error', 'text', 'text']);
  },
  'it may succeed later': () => {
    const out = three.execute(({ number }) => {
      if (number < 3) {
        throw new Error('not yet');
      }
      return number;
    });
    equal([out.ok, out.result, out.attempts, out.error], [true, 3, 3, null]);
  },
  'a response of k6/http counts by its status': () => {
    equal([200, 302, 404, 429, 503].map((status) => bare.execute(() => ({ status })).ok), [true, true, false, false, false]);
    equal([404, 429, 503].map((status) => codeOf({ status })), ['http_4xx', 'http_429', 'http_5xx']);
    const out = bare.execute(() => ({ status: 503, body: 'x' }));
    equal([out.status, out.response.body, out.result.body, out.error.name], [503, 'x', 'x', 'StatusError']);
  },
  'a response of k6/http without a status counts by its error': () => {
    equal([1050, 1220, 1212, undefined].map((error_code) => codeOf({ status: 0, error_code })), ['timeout', 'reset', 'connect', 'connect']);
    equal(bare.execute(() => ({ status: 0, error: 'dial: refused' })).error.message, 'dial: refused');
  },
  'Retry-After of a response is respected': () => {
    const out = three.execute(() => ({ status: 503, headers: { 'Retry-After': '120' } }));
    equal([out.attempts, out.waitedMs], [1, 0]);
  },
  'isFailure decides alone': () => {
    const options = { isFailure: (r) => r.status !== 503 };
    equal([bare.execute(() => ({ status: 503 }), options).ok, bare.execute(() => ({ status: 200 }), options).ok], [true, false]);
  },
  'a result that isFailure refused is kept': () => {
    const out = three.execute(() => 7, { isFailure: (n) => n === 7 });
    equal([out.result, out.attempts, out.error.code, out.error.message], [7, 3, 'thrown', 'isFailure said so']);
  },
  'isFailure that throws': () => {
    const out = bare.execute(() => 1, { isFailure: () => { throw new SyntaxError('bad'); } });
    equal([out.error.name, out.error.message], ['SyntaxError', 'bad']);
  },
  'isFailure that returns a promise': wrong(() => bare.execute(() => 1, { isFailure: async () => false }), 'isFailure must return a boolean; got a promise'),
  'a status that throws where isFailure decides': () => {
    const out = bare.execute(() => ({ get status() { throw new Error('no status'); }, a: 1 }), { isFailure: () => false });
    equal([out.ok, out.status, out.response, out.result.a], [true, 0, null, 1]);
  },
  'a getter that throws': () => {
    const out = bare.execute(() => ({ get status() { throw new Error('no status'); } }));
    equal([out.ok, out.error.message], [false, 'no status']);
  },
  'tags': () => equal(bare.execute(() => 1, { tags: { step: 'pay' } }).ok, true),
  'a fallback with a value is a copy': () => {
    const p = new Policy({ name: 'execute-value', guards: [{ fallback: { value: { n: 1 } } }] });
    p.execute(() => { throw 1; }).result.n++;
    equal(p.execute(() => { throw 1; }).result, { n: 1 });
  },
  'a fallback with a function': () => {
    const p = new Policy({ name: 'execute-fallback', guards: [{ fallback: { function: (e) => `instead of ${e.name} ${e.message}`, on: ['throw'] } }] });
    const out = p.execute(() => { throw new Error('boom'); });
    equal([out.ok, out.degraded, out.result, out.error.code], [false, true, 'instead of Error boom', 'thrown']);
    equal(p.execute(() => ({ status: 500 })).degraded, false, 'not on 5xx');
  },
  'an async fallback': wrong(() => new Policy({ name: 'execute-async', guards: [{ fallback: async () => 1 }] }).execute(() => { throw 1; }),
    'policy "execute-async": the fallback must return its answer; got a promise, which only policy.executeAsync waits for'),
  'a fallback that throws': () => {
    const p = new Policy({ name: 'execute-nothing', guards: [{ fallback: () => { throw new Error('nor this'); } }] });
    const out = p.execute(() => ({ status: 500 }));
    equal([out.ok, out.degraded, out.error.code], [false, false, 'http_5xx']);
    truthy(out.error.message.includes('nor this'), out.error.message);
  },
  'an execute in an execute': () => equal(three.execute(() => bare.execute(() => 1).result).result, 1),
  'an error can be rethrown': () => {
    throws(() => { throw three.execute(() => ({ status: 500 })).error; }, 'StatusError', 'status 500');
  },
  'rejected by a bulkhead': () => {
    const p = new Policy({ name: 'execute-full', guards: [{ bulkhead: { maxConcurrent: 1 } }] });
    equal(p.execute(() => p.execute(() => 1)).result.rejectedBy, 'bulkhead');
  },

  'no function': wrong(() => bare.execute(), 'policy.execute takes a function (attempt) => result; got undefined'),
  'another type': wrong(() => bare.execute(7), 'got the number 7'),
  'a promise': wrong(() => bare.execute(Promise.resolve(1)), 'got a promise'),
  'an async function': wrong(() => bare.execute(async () => 1), 'policy.execute: the function returned a promise, so its outcome is not known yet: use policy.executeAsync'),
  'options of another type': wrong(() => bare.execute(() => 1, 7), 'policy.execute: its options must be an object {isFailure, tags}; got the number 7'),
  'an unknown option': wrong(() => bare.execute(() => 1, { isfailure: 1 }), 'policy.execute: unknown option "isfailure"; known are: isFailure, tags'),
  'isFailure of another type': wrong(() => bare.execute(() => 1, { isFailure: 7 }), 'isFailure must be a function (result) => boolean; got the number 7'),
  'tags of another type': wrong(() => bare.execute(() => 1, { tags: 7 }), 'tags must be an object of names and values; got the number 7'),
  'a policy that hedges': wrong(() => hedged.execute(() => 1), 'policy "execute-hedged" hedges, which works for HTTP calls only'),
});
