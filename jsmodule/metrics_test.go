package jsmodule_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrylab/retrylab/jsmodule"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMetricsHaveTheirKinds(t *testing.T) {
	h := newHost(t, newModule(t))
	const counter, gauge, rate, trend = jsmodule.Counter, jsmodule.Gauge, jsmodule.Rate, jsmodule.Trend
	assert.Equal(t, map[string]jsmodule.MetricKind{
		"resilience_requests": counter, "resilience_admitted": counter, "resilience_attempts": counter, "resilience_downstream_calls": counter,
		"resilience_retries": counter, "resilience_hedges": counter, "resilience_timeouts": counter, "resilience_fallbacks": counter,
		"resilience_rejected_breaker": counter, "resilience_rejected_bulkhead": counter, "resilience_rejected_rate_limit": counter,
		"resilience_rejected_throttle": counter, "resilience_rejected_budget": counter,
		"resilience_success": rate, "resilience_amplification": trend, "resilience_inflight": gauge,
		"resilience_request_duration": trend, "resilience_success_duration": trend,
		"resilience_attempt_duration": trend, "resilience_wait_duration": trend,
		"resilience_breaker_state": gauge, "resilience_breaker_transitions": counter,
		"downstream_calls": counter, "downstream_abandoned": counter, "downstream_max_inflight": gauge,
		"downstream_residual_ms": counter, "downstream_busy_ms": counter,
	}, h.metrics)
	assert.Equal(t, map[string]bool{
		"resilience_request_duration": true, "resilience_success_duration": true,
		"resilience_attempt_duration": true, "resilience_wait_duration": true,
		"downstream_residual_ms": true, "downstream_busy_ms": true,
	}, h.times)
}

func TestAmplificationIsOfCallsAndNotOfRefusedAttempts(t *testing.T) {
	h := newHost(t, newModule(t))
	h.run(t, `new Policy({ name: 'a', guards: [
		{ retry: { maxAttempts: 3, retryOn: ['5xx', 'breaker_open'] } }, { breaker: { window: { consecutive: 1 }, openFor: '1h' } },
	] }).execute(() => ({ status: 500 }))`)
	assert.Equal(t, 3.0, h.count("resilience_attempts"))
	assert.Equal(t, []float64{1}, h.samples["resilience_amplification"])
}

func TestEachGuardCountsItsOwnRejections(t *testing.T) {
	for metric, script := range map[string]string{
		"resilience_rejected_breaker": `const p = new Policy({ name: 'p', guards: [{ breaker: { window: { consecutive: 1 }, openFor: '1h' } }] });
			p.execute(() => ({ status: 500 }));
			p.execute(() => 1).rejectedBy`,
		"resilience_rejected_bulkhead": `const p = new Policy({ name: 'p', guards: [{ bulkhead: { maxConcurrent: 1 } }] });
			p.execute(() => p.execute(() => 1).rejectedBy).result`,
		"resilience_rejected_rate_limit": `const p = new Policy({ name: 'p', guards: [{ rateLimit: { permits: 1, per: '1h' } }] });
			p.execute(() => 1);
			p.execute(() => 1).rejectedBy`,
		"resilience_rejected_throttle": `const p = new Policy({ name: 'p', guards: [{ throttle: {} }] });
			let by = null;
			for (let n = 0; n < 1000 && !by; n++) { by = p.execute(() => ({ status: 500 })).rejectedBy }
			by`,
		"resilience_rejected_budget": `new Policy({ name: 'p', guards: [{ retry: { budget: { kind: 'tokens', max: 2 } } }] })
			.execute(() => ({ status: 500 })).rejectedBy`,
	} {
		t.Run(metric, func(t *testing.T) {
			h := newHost(t, newModule(t))
			by := h.run(t, script)
			want := map[string]any{
				"resilience_rejected_breaker": "breaker", "resilience_rejected_bulkhead": "bulkhead",
				"resilience_rejected_rate_limit": "rate-limit", "resilience_rejected_throttle": "throttle",
				"resilience_rejected_budget": "budget",
			}
			assert.Equal(t, want[metric], by)
			for name := range want {
				if name == metric {
					assert.Equal(t, 1.0, h.count(name), name)
				} else {
					assert.Zero(t, h.count(name), name)
				}
			}
		})
	}
}

func TestWaitsArePushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newModule(t))
		h.run(t, `new Policy({ name: 'w', guards: [{ retry: { backoff: { initial: 30 } } }] }).execute(() => ({ status: 500 }))`)
		assert.Equal(t, []float64{30, 60}, h.samples["resilience_wait_duration"])
	})
}

func TestStateOfABreakerIsPushedAsANumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newModule(t))
		h.run(t, `const p = new Policy({ name: 'b', guards: [{ breaker: { window: { consecutive: 1 }, openFor: '1s' } }] });
			p.execute(() => ({ status: 500 }))`)
		time.Sleep(time.Second)
		h.run(t, `p.execute(() => 1)`)
		assert.Equal(t, []float64{2, 1, 0}, h.samples["resilience_breaker_state"], "open, half-open, closed")
	})
}

func TestAccountOfAServerIsRecordedWithItsToken(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Write([]byte(`{"scenario": "s", "received": 5, "abandoned": 2, "max_inflight": 3, "residual_ms": 7.5, "busy_ms": 9}`))
	}))
	defer s.Close()
	h := newHost(t, newModule(t))
	require.NoError(t, h.rt.Set("base", s.URL))
	assert.NotNil(t, h.run(t, `new Downstream({ url: base, token: 'secret' }).record()`))
	assert.Equal(t, map[string][]float64{
		"downstream_calls": {5}, "downstream_abandoned": {2}, "downstream_max_inflight": {3},
		"downstream_residual_ms": {7.5}, "downstream_busy_ms": {9},
	}, h.samples)
	assert.Nil(t, h.run(t, `new Downstream({ url: base }).record()`), "it has a token")
}

func TestNumbersInTagsAreWrittenAsTheScriptWould(t *testing.T) {
	h := newHost(t, newModule(t))
	h.run(t, `new Policy({ name: 'p', guards: [] }).execute(() => 1, { tags: { n: 1234567.5, big: 1e21, yes: true } })`)
	require.Len(t, h.tags, 1)
	for tags := range h.tags {
		assert.Equal(t, "[n 1234567.5 big 1e+21 yes true policy p]", tags)
	}
}

func TestRequestIsAdmittedByWhicheverAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newModule(t))
		h.run(t, `const p = new Policy({ name: 'p', guards: [
			{ retry: { maxAttempts: 2, backoff: { initial: '1s' }, retryOn: ['breaker_open'] } },
			{ breaker: { window: { consecutive: 1 }, openFor: '500ms' } }] });
			p.execute(() => ({ status: 500 })); p.execute(() => 1)`)
		assert.Equal(t, 2.0, h.count("resilience_admitted"), "the second by its retry")
		assert.Equal(t, 3.0, h.count("resilience_attempts"))
	})
}
