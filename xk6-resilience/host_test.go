package resilience

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/retrylab/retrylab/jsmodule"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// vu is a VU that has imported the module and left the init context.
type vu struct {
	*modulestest.Runtime
	registry *metrics.Registry
	samples  chan metrics.SampleContainer
	logged   *logtest.Hook
}

// newVU imports the module m with its exports as globals.
func newVU(t *testing.T, m *Module, id uint64) *vu {
	t.Helper()
	runtime := modulestest.NewRuntime(t)
	registry := runtime.VU.InitEnvField.Registry
	for name, value := range m.NewModuleInstance(runtime.VU).Exports().Named {
		require.NoError(t, runtime.VU.RuntimeField.Set(name, value))
	}
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	samples := make(chan metrics.SampleContainer, 1000)
	runtime.MoveToVUContext(&lib.State{
		Logger: log, Transport: transport, Samples: samples, VUID: id,
		Tags: lib.NewVUStateTags(registry.RootTagSet().With("scenario", "default")),
	})
	return &vu{runtime, registry, samples, hook}
}

func newModule(t *testing.T) *Module {
	t.Helper()
	m := New()
	t.Cleanup(func() { assert.NoError(t, m.shared.Close()) })
	return m
}

// run runs a script and returns what it ends with.
func (v *vu) run(t *testing.T, source string) any {
	t.Helper()
	value, err := v.RunOnEventLoop(source)
	require.NoError(t, err)
	return value.Export()
}

// pushed are the samples so far, by metric.
func (v *vu) pushed() map[string][]metrics.Sample {
	by := make(map[string][]metrics.Sample)
	for {
		select {
		case container := <-v.samples:
			for _, s := range container.GetSamples() {
				by[s.Metric.Name] = append(by[s.Metric.Name], s)
			}
		default:
			return by
		}
	}
}

func TestScriptsFindTheModuleByItsPath(t *testing.T) {
	extension := ext.Get(ext.JSExtension)["k6/x/resilience"]
	require.NotNil(t, extension)
	assert.IsType(t, (*Module)(nil), extension.Module)
}

func TestExportsAreConstructors(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	assert.Equal(t, "jitter", v.run(t, `new Policy('jitter').name`))
	assert.Equal(t, true, v.run(t, `new Downstream({ scenario: 'fixed-delay' }).url.startsWith('http://127.0.0.1:')`))
}

func TestClassesStayTheSameHoweverOftenK6Asks(t *testing.T) {
	i := newModule(t).NewModuleInstance(modulestest.NewRuntime(t).VU)
	assert.Same(t, i.Exports().Named["Policy"], i.Exports().Named["Policy"])
}

func TestLengthOfTheScenarioIsNoDeadlineOfARequest(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	ctx, cancel := context.WithTimeout(v.VU.CtxField, time.Hour)
	defer cancel()
	v.VU.CtxField = ctx
	assert.Equal(t, false, v.run(t, `'timeoutMs' in new Policy({ name: 'bare', guards: [] }).execute((attempt) => attempt).result`))
	cancel()
	assert.ErrorIs(t, host{v.VU}.Context().Err(), context.Canceled, "but its end is one")
}

func TestMetricsAreRegisteredWithTheirTypes(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	for name, want := range map[string]struct {
		typ      metrics.MetricType
		contains metrics.ValueType
	}{
		"resilience_requests":         {metrics.Counter, metrics.Default},
		"resilience_inflight":         {metrics.Gauge, metrics.Default},
		"resilience_success":          {metrics.Rate, metrics.Default},
		"resilience_amplification":    {metrics.Trend, metrics.Default},
		"resilience_attempt_duration": {metrics.Trend, metrics.Time},
	} {
		m := v.registry.Get(name)
		if assert.NotNil(t, m, name) {
			assert.Equal(t, want.typ, m.Type, name)
			assert.Equal(t, want.contains, m.Contains, name)
		}
	}
}

func TestSecondInstanceSharesTheMetrics(t *testing.T) {
	runtime := modulestest.NewRuntime(t)
	m := newModule(t)
	m.NewModuleInstance(runtime.VU)
	first := runtime.VU.InitEnvField.Registry.Get("resilience_requests")
	m.NewModuleInstance(runtime.VU)
	assert.Same(t, first, runtime.VU.InitEnvField.Registry.Get("resilience_requests"))
}

func TestMetricOfAnotherTypeThrowsInTheInitContext(t *testing.T) {
	runtime := modulestest.NewRuntime(t)
	_, err := runtime.VU.InitEnvField.Registry.NewMetric("resilience_requests", metrics.Gauge)
	require.NoError(t, err)
	m := newModule(t)
	require.NoError(t, runtime.VU.RuntimeField.Set("load", func() { m.NewModuleInstance(runtime.VU) }))
	_, err = runtime.RunOnEventLoop(`load()`)
	assert.ErrorContains(t, err, `k6/x/resilience: `)
	assert.ErrorContains(t, err, `resilience_requests`)
}

func TestMetricsCannotBeRegisteredOutsideOfTheInitContext(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	m, err := host{v.VU}.NewMetric("late", jsmodule.Counter, false)
	assert.Nil(t, m)
	assert.EqualError(t, err, `register metric "late": only the init context can`)
}

func TestUnknownKindOfMetricIsRefused(t *testing.T) {
	runtime := modulestest.NewRuntime(t)
	_, err := host{runtime.VU}.NewMetric("odd", 99, false)
	assert.EqualError(t, err, `register metric "odd": unknown kind 99`)
}

func TestRequestPushesItsSamplesWithTheTagsOfTheVU(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	state := v.VU.StateField
	state.Tags.Modify(func(t *metrics.TagsAndMeta) {
		t.SetTag("tenant", "blue")
		t.SetMetadata("trace", "7")
	})
	v.run(t, `
		const down = new Downstream({ scenario: 'random-failures', params: { delay: '1ms', failureRate: 1 } });
		new Policy('immediate-retry').get(down.url + '/call');`)
	pushed := v.pushed()
	assert.Len(t, pushed["resilience_downstream_calls"], 3)
	assert.Len(t, pushed["resilience_retries"], 2)
	require.Len(t, pushed["resilience_amplification"], 1)
	sample := pushed["resilience_amplification"][0]
	assert.Equal(t, 3.0, sample.Value)
	assert.Equal(t, map[string]string{"scenario": "default", "tenant": "blue", "policy": "immediate-retry"}, sample.Tags.Map())
	assert.Equal(t, map[string]string{"trace": "7"}, sample.Metadata)
	assert.WithinDuration(t, time.Now(), sample.Time, time.Minute)
	assert.NotContains(t, state.Tags.GetCurrentValues().Tags.Map(), "policy", "the VU's own tags are as they were")
}

func TestTagsAreThoseOfTheRequestsBeginning(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	h := host{v.VU}
	m := v.registry.Get("resilience_requests")
	tags := h.Tags("policy", "p")
	v.VU.StateField.Tags.Modify(func(t *metrics.TagsAndMeta) { t.SetTag("scenario", "later") })
	done := make(chan struct{})
	go func() { // as the goroutine of an attempt
		defer close(done)
		h.Push(v.VU.CtxField, jsmodule.Sample{Metric: m, Value: 1, Tags: tags})
	}()
	<-done
	sample := v.pushed()["resilience_requests"][0]
	assert.Equal(t, map[string]string{"scenario": "default", "policy": "p"}, sample.Tags.Map())
}

func TestWhatIsPushedAfterTheContextEndedIsDropped(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	h := host{v.VU}
	sample := jsmodule.Sample{Metric: v.registry.Get("resilience_requests"), Value: 1, Tags: h.Tags()}
	ctx, cancel := context.WithCancel(t.Context())
	h.Push(ctx, sample)
	cancel()
	h.Push(ctx, sample)
	assert.Len(t, v.pushed()["resilience_requests"], 1)
}

func TestForeignSamplesAreDropped(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	h := host{v.VU}
	h.Push(t.Context())
	h.Push(t.Context(), jsmodule.Sample{Metric: "of another host", Tags: h.Tags()},
		jsmodule.Sample{Metric: v.registry.Get("resilience_requests"), Tags: "of another host"})
	assert.Empty(t, v.pushed())
}

func TestInitContextHasNoTransportNoTagsAndNoNumber(t *testing.T) {
	runtime := modulestest.NewRuntime(t)
	h := host{runtime.VU}
	assert.True(t, h.InitContext())
	assert.Nil(t, h.Transport())
	assert.Nil(t, h.Tags("policy", "p"))
	assert.Zero(t, h.VU())
	assert.NotNil(t, h.Context())
	assert.Equal(t, runtime.VU.InitEnvField.Logger, h.Logger())
	v := newVU(t, newModule(t), 7)
	h = host{v.VU}
	assert.False(t, h.InitContext())
	assert.Equal(t, v.VU.StateField.Transport, h.Transport())
	assert.Equal(t, uint64(7), h.VU())
	assert.Equal(t, v.VU.StateField.Logger, h.Logger())
}

func TestCallsInTheInitContextThrow(t *testing.T) {
	runtime := modulestest.NewRuntime(t)
	for name, value := range newModule(t).NewModuleInstance(runtime.VU).Exports().Named {
		require.NoError(t, runtime.VU.RuntimeField.Set(name, value))
	}
	_, err := runtime.RunOnEventLoop(`new Policy('jitter').get('http://127.0.0.1:1/')`)
	assert.ErrorContains(t, err, "TypeError")
	assert.ErrorContains(t, err, "init context")
}

func TestBreakerIsSharedByVUsAndItsChangeLogged(t *testing.T) {
	m := newModule(t)
	a, b := newVU(t, m, 1), newVU(t, m, 2)
	const define = `var policy = new Policy({ name: 'shared', guards: [{ breaker: { window: { consecutive: 1 }, openFor: '1h' } }] });`
	a.run(t, define)
	b.run(t, define)
	a.run(t, `policy.execute(() => ({ status: 503 }))`)
	assert.Equal(t, "open", b.run(t, `policy.state().breaker.state`))
	assert.Len(t, a.pushed()["resilience_breaker_transitions"], 1)
	assert.Empty(t, b.pushed()["resilience_breaker_transitions"])
	require.NotNil(t, a.logged.LastEntry())
	assert.Equal(t, "shared", a.logged.LastEntry().Data["policy"])
}

func TestCallbackRunsOnTheEventLoop(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	rt := v.VU.RuntimeField
	require.NoError(t, rt.Set("later", func() any {
		promise, resolve, _ := rt.NewPromise()
		back := host{v.VU}.Callback()
		go func() { back(func() error { return resolve("settled") }) }()
		return promise
	}))
	v.run(t, `var order = []; later().then((value) => order.push(value)); order.push('begun')`)
	assert.Equal(t, []any{"begun", "settled"}, rt.Get("order").Export())
}

func TestPromiseOfExecuteAsyncSettles(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	v.run(t, `
		var ended = [];
		const policy = new Policy({ name: 'async', guards: [{ retry: { maxAttempts: 3, backoff: { initial: '10ms' } } }] });
		for (const name of ['a', 'b']) {
			let n = 0;
			policy.executeAsync(async () => ({ status: ++n < 3 ? 503 : 200 })).then((o) => ended.push([name, o.ok, o.attempts].join()));
		}`)
	assert.ElementsMatch(t, []any{"a,true,3", "b,true,3"}, v.VU.RuntimeField.Get("ended").Export())
	assert.Len(t, v.pushed()["resilience_requests"], 2)
}

func TestPromiseSettlesWhenTheContextOfTheVUEnds(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	time.AfterFunc(20*time.Millisecond, v.CancelContext)
	v.run(t, `
		var ended = '';
		new Policy({ name: 'patient', guards: [{ retry: { maxAttempts: 2, backoff: { initial: '30s' } } }] })
			.executeAsync(async () => ({ status: 503 })).catch((e) => { ended = e.name });`)
	assert.Equal(t, "AbortError", v.VU.RuntimeField.Get("ended").Export())
}

func TestWaitEndsWithTheContextOfTheVU(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	time.AfterFunc(20*time.Millisecond, v.CancelContext)
	begin := time.Now()
	code := v.run(t, `
		new Policy({ name: 'patient', guards: [{ retry: { maxAttempts: 2, backoff: { initial: '30s' } } }] })
			.execute(() => ({ status: 503 })).error.name`)
	assert.Equal(t, "AbortError", code)
	assert.Less(t, time.Since(begin), 10*time.Second)
	assert.Empty(t, v.pushed()["resilience_requests"], "nothing is pushed after the end")
}

func TestCallEndsWithTheContextOfTheVU(t *testing.T) {
	v := newVU(t, newModule(t), 1)
	time.AfterFunc(50*time.Millisecond, v.CancelContext)
	begin := time.Now()
	code := v.run(t, `
		const down = new Downstream({ scenario: 'fixed-delay', params: { delay: '10s' }, cancellation: 'mid-work' });
		new Policy({ name: 'slow', guards: [{ retry: { maxAttempts: 1 } }] }).get(down.url + '/call').error.code`)
	assert.Equal(t, "cancelled", code)
	assert.Less(t, time.Since(begin), 5*time.Second)
}
