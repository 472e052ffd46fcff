package jsmodule_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/jsmodule"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a JS engine of one VU that keeps the samples it is given.
type host struct {
	rt        *sobek.Runtime
	ctx       context.Context
	init      bool
	transport *http.Transport
	log       *logrus.Logger
	logged    *logtest.Hook

	mu      sync.Mutex
	metrics map[string]jsmodule.MetricKind
	times   map[string]bool // the metrics of time
	samples map[string][]float64
	tags    map[string]bool

	group   string // a tag that the script may change
	owner   string // the VU's goroutine; "": whichever
	tasks   chan func() error
	pending int
}

// Callback takes a place on the event loop.
func (h *host) Callback() func(func() error) {
	h.own()
	h.pending++
	var used atomic.Bool
	return func(task func() error) {
		if used.Swap(true) {
			panic("a place on the event loop was used twice")
		}
		h.tasks <- task
	}
}

// loop runs tasks until no place on the event loop is left.
func (h *host) loop(t *testing.T) {
	t.Helper()
	for ; h.pending > 0; h.pending-- {
		require.NoError(t, (<-h.tasks)())
	}
}

func (h *host) Runtime() *sobek.Runtime      { h.own(); return h.rt }
func (h *host) Context() context.Context     { h.own(); return h.ctx }
func (h *host) InitContext() bool            { h.own(); return h.init }
func (h *host) VU() uint64                   { h.own(); return 1 }
func (h *host) Logger() logrus.FieldLogger   { h.own(); return h.log }
func (h *host) Transport() http.RoundTripper { h.own(); return h.transport }
func (h *host) Tags(pairs ...string) jsmodule.Tags {
	h.own()
	return h.group + fmt.Sprint(pairs)
}

// own checks that this is the goroutine of the VU, where it has one.
func (h *host) own() {
	if h.owner != "" && h.owner != goroutine() {
		panic("the VU is touched from another goroutine")
	}
}

// goroutine names the present goroutine.
func goroutine() string {
	name, _, _ := strings.Cut(string(debug.Stack()), "[")
	return name
}

func (h *host) NewMetric(name string, kind jsmodule.MetricKind, isTime bool) (jsmodule.Metric, error) {
	h.metrics[name] = kind
	if isTime {
		h.times[name] = true
	}
	return name, nil
}

func (h *host) Push(_ context.Context, samples ...jsmodule.Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range samples {
		name := s.Metric.(string)
		h.samples[name] = append(h.samples[name], s.Value)
		h.tags[fmt.Sprint(s.Tags)] = true
	}
}

func (h *host) count(metric string) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := 0.0
	for _, v := range h.samples[metric] {
		sum += v
	}
	return sum
}

// newHost is a VU that has run its init code: the module's exports are
// globals.
func newHost(t testing.TB, m *jsmodule.Module) *host {
	t.Helper()
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	h := &host{
		rt: sobek.New(), ctx: t.Context(), init: true, transport: new(http.Transport), log: log, logged: hook,
		metrics: map[string]jsmodule.MetricKind{}, times: map[string]bool{}, samples: map[string][]float64{}, tags: map[string]bool{},
		tasks: make(chan func() error, 1000),
	}
	t.Cleanup(h.transport.CloseIdleConnections)
	i, err := m.NewInstance(h)
	require.NoError(t, err)
	for name, value := range i.Exports() {
		require.NoError(t, h.rt.Set(name, value))
	}
	h.init = false
	return h
}

func newModule(t *testing.T) *jsmodule.Module {
	t.Helper()
	m := jsmodule.New(nil)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return m
}

// run runs JavaScript and returns what it ends with.
func (h *host) run(t *testing.T, source string) any {
	t.Helper()
	v, err := h.rt.RunString(source)
	require.NoError(t, err)
	return v.Export()
}

func TestRequestOverHTTPTellsItsOutcomeAndPushesItsSamples(t *testing.T) {
	h := newHost(t, newModule(t))
	got := h.run(t, `
		const down = new Downstream({ scenario: 'random-failures', params: { delay: '1ms', failureRate: 1 } });
		const o = new Policy('immediate-retry').get(down.url + '/call', { headers: { 'X-Own': 'yes' } });
		const p = new Policy('immediate-retry').post(down.url + '/call', 'body');
		const record = down.record();
		({ ok: o.ok, status: o.status, attempts: o.attempts, calls: o.downstreamCalls, timeouts: o.timeouts,
		   rejectedBy: o.rejectedBy, degraded: o.degraded, waitedMs: o.waitedMs, n: o.attemptMs.length,
		   code: o.error.code, name: o.error.name, message: o.error.message,
		   body: o.response.json('ok'), whole: o.response.json().ok, type: o.response.headers['Content-Type'], received: record.received });
	`)
	assert.Equal(t, map[string]any{
		"ok": false, "status": int64(503), "attempts": int64(3), "calls": int64(3), "timeouts": int64(0),
		"rejectedBy": nil, "degraded": false, "waitedMs": int64(0), "n": int64(3),
		"code": "http_5xx", "name": "StatusError", "message": "status 503 Service Unavailable",
		"body": false, "whole": false, "type": "application/json", "received": int64(6),
	}, got)
	for metric, want := range map[string]float64{
		"resilience_requests": 2, "resilience_admitted": 2, "resilience_attempts": 6, "resilience_downstream_calls": 6, "resilience_retries": 4,
		"resilience_timeouts": 0, "resilience_success": 0, "resilience_amplification": 6, "downstream_calls": 6,
	} {
		assert.Equal(t, want, h.count(metric), metric)
	}
	assert.Len(t, h.samples["resilience_attempt_duration"], 6)
	assert.Len(t, h.samples["resilience_request_duration"], 2)
	assert.Empty(t, h.samples["resilience_success_duration"])
	assert.Equal(t, 1.0, slices.Max(h.samples["resilience_inflight"]))
	assert.Equal(t, []string{"[]", "[policy immediate-retry]"}, slices.Sorted(maps.Keys(h.tags)))
}

func TestTimeoutIsCountedAndCapped(t *testing.T) {
	h := newHost(t, newModule(t))
	got := h.run(t, `
		const down = new Downstream({ scenario: 'fixed-delay', params: { delay: '10s' }, cancellation: 'mid-work' });
		const o = new Policy({ name: 'short', guards: [{ timeout: 20 }] }).get(down.url + '/call');
		({ code: o.error.code, name: o.error.name, timeouts: o.timeouts, status: o.status, response: o.response });
	`)
	assert.Equal(t, map[string]any{"code": "timeout", "name": "TimeoutError", "timeouts": int64(1), "status": int64(0), "response": nil}, got)
	assert.Equal(t, []float64{20}, h.samples["resilience_attempt_duration"])
	assert.Equal(t, 1.0, h.count("resilience_timeouts"))
}

func TestBreakerIsSharedByNameAndItsChangesToldOnce(t *testing.T) {
	m := newModule(t)
	const define = `var policy = new Policy({ name: 'shared', guards: [
		{ breaker: { window: { consecutive: 3 }, openFor: '1h' } }] });`
	a, b := newHost(t, m), newHost(t, m)
	a.run(t, define)
	b.run(t, define)
	fail := `policy.execute(() => { throw new RangeError('boom') })`
	serverError := `policy.execute(() => ({ status: 503 }))`
	a.run(t, fail)
	assert.Equal(t, "closed", b.run(t, `policy.state().breaker.state`), "what the script throws is not among the failures")
	a.run(t, serverError)
	b.run(t, serverError)
	a.run(t, serverError)
	assert.Equal(t, "open", b.run(t, `policy.state().breaker.state`))
	assert.Equal(t, "breaker", b.run(t, serverError+`.rejectedBy`))
	assert.Equal(t, 1.0, a.count("resilience_breaker_transitions"))
	assert.Zero(t, b.count("resilience_breaker_transitions"))
	assert.Equal(t, []float64{2}, a.samples["resilience_breaker_state"])
	assert.Equal(t, 1.0, b.count("resilience_rejected_breaker"))
	assert.Equal(t, 2.0, b.count("resilience_attempts"), "a refused attempt is one")
	assert.Equal(t, 1.0, b.count("resilience_downstream_calls"), "but no call")
	assert.Equal(t, 2.0, b.count("resilience_requests"))
	assert.Equal(t, 1.0, b.count("resilience_admitted"), "the other was refused")
	last := a.logged.LastEntry()
	require.NotNil(t, last)
	assert.Equal(t, "breaker: closed -> open", last.Message)
	assert.Equal(t, logrus.WarnLevel, last.Level)
	assert.Equal(t, logrus.Fields{"policy": "shared"}, last.Data)
	b.run(t, `policy.reset()`)
	assert.Equal(t, "closed", a.run(t, `policy.state().breaker.state`))
}

func TestScopeVUSharesNothing(t *testing.T) {
	m := newModule(t)
	const define = `var policy = new Policy({ name: 'own', scope: 'vu', guards: [{ breaker: { window: { consecutive: 1 }, openFor: '1h' } }] });`
	a, b := newHost(t, m), newHost(t, m)
	a.run(t, define)
	b.run(t, define)
	a.run(t, `policy.execute(() => ({ status: 500 }))`)
	assert.Equal(t, "open", a.run(t, `policy.state().breaker.state`))
	assert.Equal(t, "closed", b.run(t, `policy.state().breaker.state`))
}

func TestExecuteReadsWhatTheFunctionReturns(t *testing.T) {
	h := newHost(t, newModule(t))
	h.run(t, `var policy = new Policy({ name: 'p', guards: [{ retry: { maxAttempts: 2 } }, { timeout: '1s' }] });`)
	for _, c := range []struct {
		call string
		want map[string]any
	}{
		{`() => 42`, map[string]any{"ok": true, "result": int64(42), "status": int64(0), "attempts": int64(1), "code": nil}},
		{`() => ({ status: 200 })`, map[string]any{"ok": true, "status": int64(200), "attempts": int64(1), "code": nil}},
		{`() => ({ status: 404 })`, map[string]any{"ok": false, "status": int64(404), "attempts": int64(1), "code": "http_4xx"}},
		{`() => ({ status: 503 })`, map[string]any{"ok": false, "status": int64(503), "attempts": int64(2), "code": "http_5xx"}},
		{`() => ({ status: 0, error_code: 1050 })`, map[string]any{"ok": false, "attempts": int64(2), "code": "timeout"}},
		{`() => ({ status: 0, error_code: 1212 })`, map[string]any{"ok": false, "attempts": int64(2), "code": "connect"}},
		{`() => { throw new RangeError('x') }`, map[string]any{"ok": false, "attempts": int64(2), "code": "thrown", "name": "RangeError"}},
		{`(a) => { if (a.number === 1) throw 1; return a.kind + ' ' + (a.timeoutMs > 900) }`,
			map[string]any{"ok": true, "attempts": int64(2), "result": "retry true", "code": nil}},
		{`() => 7, { isFailure: (r) => r === 7 }`, map[string]any{"ok": false, "attempts": int64(2), "code": "thrown"}},
		{`() => ({ status: 503 }), { isFailure: () => false }`, map[string]any{"ok": true, "attempts": int64(1), "code": nil}},
	} {
		got := h.run(t, `{ const o = policy.execute(`+c.call+`); ({ ok: o.ok, result: o.result, status: o.status, attempts: o.attempts,
			code: o.error && o.error.code, name: o.error && o.error.name }) }`).(map[string]any)
		for key, want := range c.want {
			assert.Equal(t, want, got[key], "%s: %s", c.call, key)
		}
	}
}

func TestWrongArgumentsAreTypeErrorsThatSayWhatIsWanted(t *testing.T) {
	h := newHost(t, newModule(t))
	h.run(t, `var policy = new Policy('jitter');`)
	for source, message := range map[string]string{
		`new Policy()`:       "new Policy takes a policy's name or an object {name, guards}; got 0 arguments",
		`new Policy(7)`:      `new Policy takes a policy's name or an object {name, guards}; got the number 7`,
		`new Policy(['a'])`:  `got an array`,
		`new Policy('nope')`: `unknown policy "nope", known are: no-retry-low-timeout, `,
		`new Policy({ name: 'x', guards: [{ retry: { jitter: 'ful' } }] })`: `guards[0].retry.jitter: "ful" is none of none, full`,
		`new Policy({ name: 'jitter', guards: [] })`:                        `policy "jitter" is in use with other guards`,
		`new Policy('jitter', { pools: 1 })`:                                `new Policy: unknown option "pools"; known are: pool, logRetries`,
		`new Policy('jitter', { pool: { maxConnections: 0 } })`:             `pool.maxConnections: 0 is not in 1 … 100000`,
		`policy.get()`:                                                                    `policy.get: the URL is missing`,
		`policy.get('/call')`:                                                             `policy.get: "/call" is not an absolute http or https URL`,
		`policy.post('http://127.0.0.1/', 7)`:                                             `policy.post: the body must be a string, an ArrayBuffer or an object of form fields; got the number 7`,
		`policy.get('http://127.0.0.1/', { header: {} })`:                                 `policy.get: unknown parameter "header"; known are: headers`,
		`policy.request('G T', 'http://127.0.0.1/')`:                                      `policy.request: method: "G T" is not a word of letters, digits`,
		`policy.get('http://127.0.0.1/', { headers: { X: 'a\nb' } })`:                     `policy.get: headers: X: "a\nb" has a control character in it`,
		`policy.execute(async () => 1)`:                                                   `the function returned a promise`,
		`policy.execute(7)`:                                                               `policy.execute takes a function (attempt) => result; got the number 7`,
		`policy.execute(() => 1, { isFailure: 7 })`:                                       `isFailure must be a function`,
		`new Downstream('fixed-delay')`:                                                   `new Downstream takes an object {scenario, params, timeline, tiers, seed, cancellation, name} or {url, token}; got the string "fixed-delay"`,
		`new Downstream({ scenario: 'nope' })`:                                            `unknown scenario "nope"`,
		`new Downstream({ scenario: 'fixed-delay', seed: -1, parms: {} })`:                `seed: must be a whole number from 0; got the number -1`,
		`new Downstream({ scenario: 'fixed-delay', timeline: ['10s nope'] })`:             `timeline[0]: `,
		`new Downstream({ scenario: 'fixed-delay', timeline: '10s outage' })`:             `timeline: must be an array of strings`,
		`new Downstream({ scenario: 'fixed-delay', tiers: [] })`:                          `tiers: 0 is not in 1 … 16`,
		`new Downstream({ scenario: 'fixed-delay', tiers: ['jitter'] })`:                  `tiers[0]: must be an object {policy, passDeadline}`,
		`new Downstream({ scenario: 'fixed-delay', tiers: [{ policy: 'nope' }, {}] })`:    `known are: no-retry-low-timeout, `,
		`new Downstream({ scenario: 'fixed-delay', seed: 0.5, tiers: [{ polcy: 'x' }] })`: `tiers[0]: unknown key "polcy"; known are policy, passDeadline; tiers[0].policy: is missing`,
		`new Downstream({ url: 'nope' })`:                                                 `url: "nope" is not an absolute http or https URL`,
	} {
		_, err := h.rt.RunString(source)
		var thrown *sobek.Exception
		if assert.ErrorAs(t, err, &thrown, source) {
			assert.Contains(t, thrown.Value().String(), "TypeError: ", source)
			assert.Contains(t, thrown.Value().String(), message, source)
		}
	}
}

func TestNoCallsInTheInitContext(t *testing.T) {
	h := newHost(t, newModule(t))
	h.init = true
	for _, source := range []string{
		`new Policy('jitter').get('http://127.0.0.1:1/')`, `new Policy('jitter').execute(() => 1)`,
	} {
		_, err := h.rt.RunString(source)
		assert.ErrorContains(t, err, "no calls can be made in the init context")
	}
}

func TestDownstreamStartsOnceForAllVUsAndOnItsFirstUse(t *testing.T) {
	m := newModule(t)
	a, b := newHost(t, m), newHost(t, m)
	const define = `var down = new Downstream({ scenario: 'fixed-delay', params: { delay: 0 }, url: undefined });`
	a.run(t, define)
	b.run(t, define)
	assert.Equal(t, a.run(t, `down.url`), b.run(t, `down.url`))
	a.run(t, `new Policy('jitter').get(down.url + '/call')`)
	assert.EqualValues(t, 1, b.run(t, `down.stats().received`))
	b.run(t, `down.reset()`)
	assert.EqualValues(t, 0, a.run(t, `new Downstream({ url: down.url + '/' }).stats().received`))
	_, err := a.rt.RunString(`new Downstream({ scenario: 'fixed-delay', params: { delay: 5 } }).url`)
	assert.ErrorContains(t, err, `downstream "fixed-delay" runs with another scenario or other tiers`)
}

// Three tiers of three attempts each make 3³ calls of one request.
func TestTiersOfADownstream(t *testing.T) {
	m := newModule(t)
	a, b := newHost(t, m), newHost(t, m)
	const define = `var down = new Downstream({ scenario: 'random-failures', params: { delay: 0, failureRate: 1 }, name: 'chain', tiers: [
		{ policy: 'immediate-retry' },
		{ policy: { name: 'own', guards: [{ retry: { maxAttempts: 3 } }] }, passDeadline: true },
		{ policy: 'immediate-retry', passDeadline: undefined },
	] });
	var bare = new Policy({ name: 'bare', guards: [] });`
	a.run(t, define)
	b.run(t, define)
	assert.Equal(t, a.run(t, `down.url`), b.run(t, `down.url`))
	assert.EqualValues(t, 503, a.run(t, `bare.get(down.url + '/call').status`))
	assert.EqualValues(t, 27, b.run(t, `down.stats().received`))
	assert.EqualValues(t, 27, b.run(t, `down.record().amplification`))
	assert.Equal(t, 27.0, b.count("downstream_calls"))
	assert.Equal(t, "immediate-retry 1 3, own 3 9, immediate-retry 9 27", a.run(t,
		`down.stats().tiers.map((t) => [t.policy, t.received, t.calls].join(' ')).join(', ')`))

	assert.EqualValues(t, 200, a.run(t, `bare.put(down.url + '/scenario', '{"scenario": "fixed-delay", "params": {"delay": 0}}').status`))
	b.run(t, `down.reset()`)
	assert.EqualValues(t, 200, a.run(t, `bare.get(down.url + '/call').status`))
	assert.Equal(t, "fixed-delay 1 1", a.run(t, `{ const s = down.stats(); [s.scenario, s.received, s.tiers[2].succeeded].join(' ') }`))

	_, err := a.rt.RunString(`new Downstream({ scenario: 'random-failures', params: { delay: 0, failureRate: 1 }, name: 'chain' }).url`)
	assert.ErrorContains(t, err, `downstream "chain" runs with another scenario or other tiers`)
}

func TestTimelineOfADownstream(t *testing.T) {
	h := newHost(t, newModule(t))
	got := h.run(t, `
		const down = new Downstream({ scenario: 'fixed-delay', params: { delay: 0 }, timeline: ['0s outage mode=503 for 1h'] });
		new Policy({ name: 'bare', guards: [] }).get(down.url + '/call').status`)
	assert.Equal(t, int64(503), got)
}

func TestInterruptedRuntimeIsNotHeldUp(t *testing.T) {
	h := newHost(t, newModule(t))
	require.NoError(t, h.rt.Set("stop", func() { h.rt.Interrupt("stop") }))
	_, err := h.rt.RunString(`new Policy('immediate-retry').execute(() => { stop(); for (;;) {} }); throw new Error('went on')`)
	var interrupted *sobek.InterruptedError
	assert.ErrorAs(t, err, &interrupted)
	assert.Equal(t, 1.0, h.count("resilience_attempts"), "it is no throw to be retried")
}

func TestServerThatIsNoneOfOursIsOnlyWarnedOf(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"a": 1}`) }))
	defer s.Close()
	h := newHost(t, newModule(t))
	require.NoError(t, h.rt.Set("base", s.URL))
	assert.Nil(t, h.run(t, `new Downstream({ url: base }).record()`))
	assert.Contains(t, h.logged.LastEntry().Message, "downstream_* metrics are missing")
	_, err := h.rt.RunString(`new Downstream({ url: base }).stats()`)
	assert.ErrorContains(t, err, "is not of a retrylab server")
}

func TestRequestsOfTheSamePolicyInSeveralVUsHaveIdsOfTheirOwn(t *testing.T) {
	var mu sync.Mutex
	ids := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		ids[r.Header.Get("X-Request-Id")]++
		w.WriteHeader(503)
	}))
	defer s.Close()
	m := newModule(t)
	for range 2 {
		h := newHost(t, m)
		require.NoError(t, h.rt.Set("base", s.URL))
		h.run(t, `const p = new Policy({ name: 'v', scope: 'vu', guards: [{ retry: { maxAttempts: 2 } }] });
			p.get(base); p.get(base); p.get(base, { headers: { 'x-request-id': 'mine' } });`)
	}
	assert.Len(t, ids, 5)
	assert.Equal(t, 4, ids["mine"])
}

func TestFallbackFunctionRunsOnTheVU(t *testing.T) {
	h := newHost(t, newModule(t))
	got := h.run(t, `
		const p = new Policy({ name: 'f', guards: [{ fallback: (e) => 'instead of ' + e.code }] });
		const q = new Policy({ name: 'g', guards: [{ fallback: { function: (e) => { throw new Error('nor this') }, on: ['5xx'] } }] });
		const r = new Policy({ name: 'h', guards: [{ fallback: { status: 202, body: '{"queued": true}' } }] });
		const a = p.execute(() => ({ status: 503 })), b = q.execute(() => ({ status: 500 })), c = r.execute(() => { throw 1 });
		({ a: [a.ok, a.degraded, a.result, a.error.code], b: [b.ok, b.degraded, b.error.message], c: [c.degraded, c.status, c.response.json('queued')] });
	`).(map[string]any)
	assert.Equal(t, []any{false, true, "instead of http_5xx", "http_5xx"}, got["a"])
	assert.Contains(t, got["b"].([]any)[2], "nor this")
	assert.Equal(t, []any{true, int64(202), true}, got["c"])
	assert.Equal(t, 2.0, h.count("resilience_fallbacks"))
	assert.Zero(t, h.count("resilience_success"), "a degraded request is no success")
}

func TestBudgetAndHedgeAreSeenByTheScript(t *testing.T) {
	h := newHost(t, newModule(t))
	got := h.run(t, `
		const p = new Policy({ name: 'b', guards: [{ retry: { budget: { kind: 'tokens', max: 2 } } }] });
		const before = p.state().budget.balance;
		const o = p.execute(() => ({ status: 500 }));
		const down = new Downstream({ scenario: 'latency-tail-spike', params: { delay: 0, every: 2, spike: '10s' }, cancellation: 'mid-work' });
		const hedged = new Policy({ name: 'hedge', guards: [{ hedge: { after: 20 } }] });
		const answers = [hedged.get(down.url + '/call'), hedged.get(down.url + '/call')];
		({ before, after: p.state().budget.balance, by: o.rejectedBy, code: o.error.code, attempts: o.attempts,
		   ok: answers.map((a) => a.ok), calls: answers.map((a) => a.downstreamCalls) });
	`).(map[string]any)
	assert.Equal(t, map[string]any{
		"before": int64(2), "after": int64(1), "by": "budget", "code": "http_5xx", "attempts": int64(1),
		"ok": []any{true, true}, "calls": []any{int64(1), int64(2)},
	}, got)
	assert.Equal(t, 1.0, h.count("resilience_rejected_budget"))
	assert.Equal(t, 1.0, h.count("resilience_hedges"))
	_, err := h.rt.RunString(`hedged.execute(() => 1)`)
	assert.ErrorContains(t, err, `policy "hedge" hedges, which works for HTTP calls only`)
}

func TestPoolBoundsTheConnectionsOfAllVUs(t *testing.T) {
	m := newModule(t)
	a, b := newHost(t, m), newHost(t, m)
	const script = `
		const down = new Downstream({ scenario: 'fixed-delay', params: { delay: '40ms' } });
		const p = new Policy({ name: 'pooled', guards: [] }, { pool: { maxConnections: 1 } });
		for (let n = 0; n < 3; n++) { if (!p.get(down.url + '/call').ok) throw new Error('not ok'); }`
	var wg sync.WaitGroup
	for _, h := range []*host{a, b} {
		wg.Go(func() {
			_, err := h.rt.RunString(script)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	stats := a.run(t, `down.stats()`).(map[string]any)
	assert.EqualValues(t, 1, stats["max_inflight"])
	assert.EqualValues(t, 6, stats["received"])
	_, err := a.rt.RunString(`new Policy('jitter', { pool: { maxConnections: 2 } }); new Policy('jitter', { pool: { maxConnections: 3 } })`)
	assert.ErrorContains(t, err, `TypeError: the pool of policy "jitter" has 2 connections already, not 3`)
}

// Once the value of a fallback was one object for all VUs, which crashed when
// their scripts changed it.
func TestValueOfAFallbackIsEachVUsOwn(t *testing.T) {
	m := newModule(t)
	var wg sync.WaitGroup
	for range 8 {
		h := newHost(t, m)
		wg.Go(func() {
			v, err := h.rt.RunString(`
				const p = new Policy({ name: 'f', guards: [{ fallback: { value: { n: 0 } } }] });
				let last;
				for (let k = 0; k < 200; k++) {
					last = p.execute(() => { throw 1 }).result;
					last.n++;
					last['key' + k] = k;
				}
				last.n`)
			if assert.NoError(t, err) {
				assert.EqualValues(t, 1, v.Export())
			}
		})
	}
	wg.Wait()
}

// Once a cache gave one VU the object of another's runtime.
func TestCacheOfExecuteIsEachVUsOwn(t *testing.T) {
	m := newModule(t)
	a, b := newHost(t, m), newHost(t, m)
	const define = `const p = new Policy({ name: 'c', guards: [{ fallback: { cache: { ttl: '1h' } } }] });`
	a.run(t, define)
	b.run(t, define)
	a.run(t, `p.execute(() => ({ from: 'a' })).ok`)
	assert.Equal(t, []any{true, "a"}, a.run(t, `{ const o = p.execute(() => { throw 1 }); [o.degraded, o.result.from] }`))
	assert.Equal(t, false, b.run(t, `p.execute(() => { throw 1 }).degraded`))
}
