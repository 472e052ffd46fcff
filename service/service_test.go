package service_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/retrylab/retrylab/service"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// app is a service behind a real socket, with quick policies of its own.
type app struct {
	url    string
	client *http.Client
}

const policies = `
- name: quick
  guards: [{retry: {maxAttempts: 3}}, {timeout: 150ms}]
- name: once
  guards: [{timeout: 1s}]
- name: breaker
  guards: [{breaker: {window: {consecutive: 2}, openFor: 1h}}, {timeout: 150ms}]
- name: poor
  guards: [{retry: {maxAttempts: 3, budget: {kind: quota, capacity: 5, cost: 5, timeoutCost: 5, name: all}}}, {timeout: 20ms}]
- name: poor-too
  guards: [{retry: {maxAttempts: 3, budget: {kind: quota, capacity: 5, cost: 5, timeoutCost: 5, name: all}}}, {timeout: 20ms}]
- name: bulkhead
  guards: [{bulkhead: {maxConcurrent: 1}}, {timeout: 1s}]
`

func start(t *testing.T) app {
	t.Helper()
	known, err := catalog.Parse("test", []byte(policies))
	require.NoError(t, err)
	s := service.New(service.Config{Policies: known, Cancellation: downstream.MidWork, Seed: 1})
	server := httptest.NewServer(s)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		assert.NoError(t, s.Close(ctx))
	})
	return app{url: server.URL, client: client}
}

func (a app) do(t *testing.T, method, path string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, a.url+path, nil)
	require.NoError(t, err)
	response, err := a.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(body)
}

func (a app) snapshot(t *testing.T) service.Snapshot {
	t.Helper()
	status, _, body := a.do(t, "GET", "/api/metrics")
	require.Equal(t, 200, status)
	var s service.Snapshot
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&s))
	return s
}

func TestRequestTellsWhatItCost(t *testing.T) {
	a := start(t)
	status, h, body := a.do(t, "GET", "/api/work?policy=quick&scenario=fixed-delay") // 220 ms: all three time out
	assert.Equal(t, 503, status)
	assert.Contains(t, body, `"success":false`)
	assert.Equal(t, "3", h.Get("X-Attempts"))
	assert.Equal(t, "3", h.Get("X-Downstream-Calls"))
	assert.Equal(t, "3", h.Get("X-Timeout-Count"))
	assert.Equal(t, "0", h.Get("X-Circuit-Breaker-Rejected"))
	assert.Equal(t, "0", h.Get("X-Bulkhead-Rejected"))
	assert.Equal(t, "150.000,150.000,150.000", h.Get("X-Attempt-Latencies-Ms"))

	status, h, body = a.do(t, "GET", "/api/work?policy=once&scenario=fixed-delay")
	assert.Equal(t, 200, status, body)
	assert.Equal(t, "1", h.Get("X-Downstream-Calls"))

	s := a.snapshot(t)
	assert.Equal(t, 2, s.TotalRequests)
	assert.Equal(t, 1, s.SuccessfulRequests)
	assert.Equal(t, 1, s.FailedRequests)
	assert.Equal(t, 0.5, s.SuccessRate)
	assert.Equal(t, 4, s.DownstreamCalls)
	assert.Equal(t, 2.0, s.RetryAmplificationFactor)
	assert.Equal(t, 2, s.RetryAttempts)
	assert.Equal(t, 1.0, s.RetryAttemptsPerRequest)
	assert.Equal(t, 3, s.TimeoutCount)
	assert.GreaterOrEqual(t, s.AllAttemptLatencyP95Ms, 220.0)
	assert.GreaterOrEqual(t, s.SuccessLatencyP99Ms, 220.0)
	assert.Positive(t, s.SuccessfulRequestsPerSecond)
	assert.Equal(t, "low", s.ConcurrencyObservation)
}

// The names are the published lab's: a script of its own reads them.
func TestNamesOfTheSnapshot(t *testing.T) {
	a := start(t)
	_, _, body := a.do(t, "GET", "/api/metrics")
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	var names []string
	for name := range got {
		names = append(names, name)
	}
	assert.ElementsMatch(t, []string{
		"totalRequests", "successfulRequests", "failedRequests", "successRate", "errorRate", "successfulRequestsPerSecond",
		"allAttemptLatencyP95Ms", "allAttemptLatencyP99Ms", "successLatencyP95Ms", "successLatencyP99Ms", "downstreamCalls",
		"retryAmplificationFactor", "retryAttempts", "retryAttemptsPerRequest", "timeoutCount", "circuitBreakerRejected",
		"bulkheadRejected", "currentInflightDownstream", "maxInflightDownstream", "concurrencyObservation",
	}, names)
}

func TestRejectionsAreTold(t *testing.T) {
	a := start(t)
	for range 2 {
		a.do(t, "GET", "/api/work?policy=breaker&scenario=fixed-delay")
	}
	status, h, _ := a.do(t, "GET", "/api/work?policy=breaker&scenario=fixed-delay")
	assert.Equal(t, 503, status)
	assert.Equal(t, "1", h.Get("X-Circuit-Breaker-Rejected"))
	assert.Equal(t, "0", h.Get("X-Downstream-Calls"))
	assert.Empty(t, h.Get("X-Attempt-Latencies-Ms"))
	assert.Equal(t, 1, a.snapshot(t).CircuitBreakerRejected)

	status, _, _ = a.do(t, "POST", "/api/reset")
	assert.Equal(t, 200, status)
	assert.Equal(t, service.Snapshot{ConcurrencyObservation: "low"}, a.snapshot(t))
	_, h, _ = a.do(t, "GET", "/api/work?policy=breaker&scenario=fixed-delay")
	assert.Equal(t, "1", h.Get("X-Downstream-Calls"), "the breaker is closed again")
}

// Once each policy had a budget of its own, whatever the budget's name.
func TestPoliciesShareABudgetByItsName(t *testing.T) {
	a := start(t)
	for _, policy := range []string{"poor", "poor-too"} {
		a.do(t, "GET", "/api/work?policy="+policy+"&scenario=fixed-delay")
	}
	assert.Equal(t, 1, a.snapshot(t).RetryAttempts)
}

func TestUnknownNamesAreRefusedWithTheKnownOnes(t *testing.T) {
	a := start(t)
	for path, want := range map[string]string{
		"/api/work?policy=nope&scenario=fixed-delay": `{"error":"unknown policy \"nope\"","known":["quick","once","breaker","poor","poor-too","bulkhead"]}`,
		"/api/work?policy=once&scenario=nope":        `{"error":"unknown scenario \"nope\"","known":["fixed-delay",`,
		"/api/work":                                  `{"error":"unknown policy \"\"",`,
	} {
		status, _, body := a.do(t, "GET", path)
		assert.Equal(t, 400, status, path)
		assert.Contains(t, body, want, path)
	}
	assert.Zero(t, a.snapshot(t).TotalRequests)
}

func TestUnknownRoutesAndMethodsAreRefusedInJSON(t *testing.T) {
	a := start(t)
	for _, tt := range []struct {
		method, path string
		status       int
		allow, body  string
	}{
		{"POST", "/api/work?policy=once&scenario=fixed-delay", 405, "GET, HEAD", `{"error":"method \"POST\" on /api/work is not GET, HEAD"}`},
		{"GET", "/api/reset", 405, "POST", `{"error":"method \"GET\" on /api/reset is not POST"}`},
		{"DELETE", "/api/metrics", 405, "GET, HEAD", `{"error":"method \"DELETE\" on /api/metrics is not GET, HEAD"}`},
		{"PUT", "/healthz", 405, "GET, HEAD", `{"error":"method \"PUT\" on /healthz is not GET, HEAD"}`},
		{"GET", "/nowhere", 404, "", `{"error":"no route \"/nowhere\"","known":["/api/work","/api/metrics","/api/reset","/healthz"]}`},
		{"POST", "/", 404, "", `{"error":"no route \"/\"","known":["/api/work","/api/metrics","/api/reset","/healthz"]}`},
	} {
		status, h, body := a.do(t, tt.method, tt.path)
		assert.Equal(t, tt.status, status, tt.path)
		assert.Equal(t, "application/json", h.Get("Content-Type"))
		assert.Equal(t, tt.allow, h.Get("Allow"))
		assert.JSONEq(t, tt.body, body)
	}
	assert.Zero(t, a.snapshot(t).TotalRequests)
}

func TestTotalsEqualTheCallersUnderLoad(t *testing.T) {
	a := start(t)
	const workers, each = 100, 10
	var ok, rejected, calls atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				status, h, _ := a.do(t, "GET", "/api/work?policy=bulkhead&scenario=random-failures")
				if status == 200 {
					ok.Add(1)
				}
				if h.Get("X-Bulkhead-Rejected") == "1" {
					rejected.Add(1)
				}
				if h.Get("X-Downstream-Calls") == "1" {
					calls.Add(1)
				}
			}
		})
	}
	wg.Wait()
	s := a.snapshot(t)
	assert.Equal(t, workers*each, s.TotalRequests)
	assert.EqualValues(t, ok.Load(), s.SuccessfulRequests)
	assert.EqualValues(t, rejected.Load(), s.BulkheadRejected)
	assert.EqualValues(t, calls.Load(), s.DownstreamCalls)
	assert.Equal(t, 1, s.MaxInflightDownstream)
	assert.Zero(t, s.CurrentInflightDownstream)
}
