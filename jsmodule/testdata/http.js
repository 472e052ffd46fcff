// Requests over HTTP, against a server in this process.
import { Downstream, Policy } from 'k6/x/resilience';
import { caught, equal, options as shared, suite, throws, truthy } from './lib/suite.js';

export const options = shared;

const well = new Downstream({ name: 'js-well', scenario: 'fixed-delay', params: { delay: 0 } });
const ill = new Downstream({ name: 'js-ill', scenario: 'random-failures', params: { delay: 0, failureRate: 1 } });
const silent = new Downstream({ name: 'js-silent', scenario: 'fixed-delay', params: { delay: '1m' }, cancellation: 'mid-work' });
const limited = new Downstream({ name: 'js-limited', scenario: 'rate-limited', params: { rate: 0.001, burst: 1 } });
const bare = new Policy({ name: 'http-bare', guards: [] });
const three = new Policy({ name: 'http-three', guards: [{ retry: { maxAttempts: 3 } }] });
const call = (d) => `${d.url}/call`;
const inInit = caught(() => bare.get('http://127.0.0.1:1/'));

const wrong = (f, text) => () => throws(f, 'TypeError', text);

export default suite('http', {
  'get, and what the outcome has': () => {
    const out = bare.get(call(well));
    equal(Object.keys(out), ['ok', 'status', 'response', 'result', 'attempts', 'downstreamCalls', 'timeouts', 'rejectedBy',
      'degraded', 'waitedMs', 'durationMs', 'attemptMs', 'error']);
    equal([out.ok, out.status, out.attempts, out.downstreamCalls, out.timeouts, out.rejectedBy, out.degraded, out.waitedMs, out.error],
      [true, 200, 1, 1, 0, null, false, 0, null]);
    truthy(out.durationMs >= 0 && out.attemptMs.length === 1, 'times');
    truthy(Array.isArray(out.attemptMs), 'attemptMs is an array');
    equal(out.result, undefined);
  },
  'a response as k6/http has it': () => {
    const { response } = bare.get(call(well));
    equal([response.status, response.status_text, response.proto, response.url], [200, '200 OK', 'HTTP/1.1', call(well)]);
    equal(response.headers['Content-Type'], 'application/json');
    equal([response.json('ok'), response.json().ok, response.json('nope')], [true, true, undefined]);
    truthy(response.body.includes('"ok"'), 'body');
  },
  'a body that is no JSON': () => throws(() => bare.head(call(well)).response.json(), 'SyntaxError', 'the body is no JSON'),
  'post, put, patch, del, options, head': () => {
    for (const method of ['post', 'put', 'patch', 'del', 'options']) {
      equal(bare[method](call(well), 'body').status, 200, method);
    }
    equal(bare.head(call(well)).status, 200, 'head');
  },
  'request': () => equal(bare.request('delete', call(well), null, { headers: { 'X-Own': 1 } }).status, 200),
  'a form, an ArrayBuffer, nothing as a body': () => {
    equal(bare.post(call(well), { a: 1, b: 'two' }).ok, true);
    equal(bare.post(call(well), new Uint8Array([1, 2]).buffer).ok, true);
    equal(bare.post(call(well)).ok, true);
    equal(bare.post(call(well), null, { headers: {}, tags: { name: 'pay', n: 1, b: true } }).ok, true);
  },
  'a failure that was retried': () => {
    const out = three.get(call(ill));
    equal([out.ok, out.status, out.attempts, out.downstreamCalls, out.attemptMs.length], [false, 503, 3, 3, 3]);
  },
  'the error is an Error': () => {
    const { error } = three.get(call(ill));
    truthy(error instanceof Error, 'instanceof');
    equal(error, { message: 'status 503 Service Unavailable', name: 'StatusError', code: 'http_5xx', attempts: 3 });
    equal(String(error), 'StatusError: status 503 Service Unavailable');
    equal(caught(() => { throw error; }) === error, true, 'it can be thrown');
  },
  'a timeout is cut off': () => {
    const out = new Policy({ name: 'http-cut', guards: [{ retry: { maxAttempts: 2 } }, { timeout: 20 }] }).get(call(silent));
    equal([out.status, out.response, out.timeouts, out.error.name, out.error.code, out.error.attempts], [0, null, 2, 'TimeoutError', 'timeout', 2]);
    equal(out.attemptMs, [20, 20]);
  },
  'a server that is not there': () => {
    const { error } = bare.get('http://127.0.0.1:1/');
    equal([error.name, error.code], ['NetworkError', 'connect']);
  },
  'a 4xx is not retried': () => {
    const out = three.get(`${well.url}/nowhere`);
    equal([out.ok, out.status, out.attempts, out.error.code], [false, 404, 1, 'http_4xx']);
  },
  'a long Retry-After ends the request': () => {
    three.get(call(limited));
    const out = three.get(call(limited));
    equal([out.status, out.attempts, out.error.code], [429, 1, 'http_429']);
  },
  'a wait is counted': () => {
    const out = new Policy({ name: 'http-wait', guards: [{ retry: { maxAttempts: 2, backoff: { initial: 5 } } }] }).get(call(ill));
    truthy(out.waitedMs >= 5, 'waitedMs');
  },
  'an open breaker rejects': () => {
    const p = new Policy({ name: 'http-breaker', guards: [{ breaker: { window: { consecutive: 1 }, openFor: '1h' } }] });
    p.get(call(ill));
    const out = p.get(call(ill));
    equal([out.rejectedBy, out.attempts, out.downstreamCalls, out.error.name, out.error.code, out.status],
      ['breaker', 1, 0, 'RejectedError', 'breaker_open', 0]);
  },
  'a rate limit rejects': () => {
    const p = new Policy({ name: 'http-rate', guards: [{ rateLimit: { permits: 1, per: '1h' } }] });
    equal([p.get(call(well)).ok, p.get(call(well)).rejectedBy], [true, 'rate-limit']);
  },
  'a hedge is a second call': () => {
    const out = new Policy({ name: 'http-hedge', guards: [{ timeout: 60 }, { hedge: { after: 10 } }] }).get(call(silent));
    equal([out.attempts, out.downstreamCalls, out.timeouts], [2, 2, 2]);
  },
  'a fallback with a status': () => {
    const p = new Policy({ name: 'http-fallback', guards: [{ fallback: { status: 202, body: '{"queued": [1, 2]}' } }] });
    const out = p.get(call(ill));
    equal([out.ok, out.degraded, out.status, out.response.json('queued'), out.error.code], [false, true, 202, [1, 2], 'http_5xx']);
  },
  'a fallback with a function': () => {
    const p = new Policy({ name: 'http-function', guards: [{ fallback: (e) => [e instanceof Error, e.code, e.attempts] }, { retry: {} }] });
    const out = p.get(call(ill));
    equal([out.degraded, out.result], [true, [true, 'http_5xx', 3]]);
  },
  'a fallback from a cache': () => {
    const p = new Policy({ name: 'http-cache', guards: [{ fallback: { cache: { ttl: '1h' } } }] });
    const changing = new Downstream({ name: 'js-changing', scenario: 'fixed-delay', params: { delay: 0 } });
    p.get(call(changing));
    changing.setScenario({ scenario: 'random-failures', params: { delay: 0, failureRate: 1 } });
    const out = p.get(call(changing));
    equal([out.ok, out.degraded, out.status, out.error.code], [false, true, 200, 'http_5xx']);
  },
  'a pool of its own': () => {
    const p = new Policy({ name: 'http-pool', guards: [] }, { pool: { maxConnections: 1 } });
    equal([p.get(call(well)).ok, p.get(call(well)).ok], [true, true]);
  },

  'in the init context': () => equal([inInit.name, inInit.message], ['TypeError', 'policy.get: no calls can be made in the init context']),
  'no URL': wrong(() => bare.get(), 'policy.get: the URL is missing'),
  'a URL that is not absolute': wrong(() => bare.del('/call'), 'policy.del: "/call" is not an absolute http or https URL'),
  'a URL of another type': wrong(() => bare.get(7), 'policy.get: the URL must be a string; got the number 7'),
  'a body of another type': wrong(() => bare.post('http://127.0.0.1/', 7), 'policy.post: the body must be a string, an ArrayBuffer or an object of form fields; got the number 7'),
  'parameters of another type': wrong(() => bare.get('http://127.0.0.1/', 'x'), 'policy.get: its parameters must be an object {headers, tags}; got the string "x"'),
  'a body that is a symbol': wrong(() => bare.post('http://127.0.0.1/', Symbol('x')), 'the body must be a string, an ArrayBuffer or an object of form fields; got a symbol'),
  'an async fallback': wrong(() => new Policy({ name: 'http-async', guards: [{ fallback: async () => 1 }] }).get(call(ill)),
    'policy "http-async": the fallback must return its answer; got a promise, which only policy.executeAsync waits for'),
  'an unknown parameter': wrong(() => bare.get('http://127.0.0.1/', { header: {} }), 'policy.get: unknown parameter "header"; known are: headers, tags'),
  'headers of another type': wrong(() => bare.get('http://127.0.0.1/', { headers: 'X: 1' }), 'policy.get: headers must be an object of names and values; got the string "X: 1"'),
  'a header of another type': wrong(() => bare.get('http://127.0.0.1/', { headers: { X: null } }), 'headers: X must be a string, a number or a boolean; got null'),
  'a header that cannot be sent': wrong(() => bare.get('http://127.0.0.1/', { headers: { X: 'a\nb' } }), 'headers: X: "a\\nb" has a control character in it'),
  'tags of another type': wrong(() => bare.get('http://127.0.0.1/', { tags: [] }), 'policy.get: tags must be an object of names and values; got an array'),
  'a tag of another type': wrong(() => bare.get('http://127.0.0.1/', { tags: { a: {} } }), 'tags: a must be a string, a number or a boolean; got an object'),
  'a method of another type': wrong(() => bare.request(7, 'http://127.0.0.1/'), "policy.request takes a method, such as 'GET', and a URL; got the number 7"),
  'a method that is empty': wrong(() => bare.request('', 'http://127.0.0.1/'), 'policy.request takes a method, such as \'GET\', and a URL; got the string ""'),
  'a method that cannot be': wrong(() => bare.request('G T', 'http://127.0.0.1/'), 'policy.request: method: "G T" is not a word of letters'),
});
