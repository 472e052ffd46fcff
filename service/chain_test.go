package service_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/retrylab/retrylab/service"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tries is a policy of so many attempts without a wait, each of this length.
func tries(n int, timeout time.Duration) resilience.Config {
	guards := []resilience.Guard{resilience.TimeoutGuard{Limit: timeout}}
	if n > 1 {
		guards = append([]resilience.Guard{resilience.RetryGuard{
			MaxAttempts: n, Backoff: backoff.Schedule{Multiplier: 1, Max: time.Second}, RetryOn: resilience.DefaultRetryOn(),
		}}, guards...)
	}
	return resilience.Config{Name: "tries", Guards: guards}
}

// chain starts tiers in front of a server of this scenario.
func chain(t *testing.T, scenario string, params map[string]any, tiers ...service.Tier) (*service.Chain, *downstream.Listener) {
	t.Helper()
	parsed, err := downstream.ParseScenario(scenario, params)
	require.NoError(t, err)
	server, err := downstream.Listen("", downstream.Config{Scenario: parsed, Seed: 1})
	require.NoError(t, err)
	c, err := service.StartChain(service.ChainConfig{Tiers: tiers, Next: server.URL()})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		assert.NoError(t, c.Close(ctx))
		assert.NoError(t, server.Close(ctx))
	})
	return c, server
}

func get(t *testing.T, url string, header http.Header) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	require.NoError(t, err)
	if header != nil {
		request.Header = header
	}
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	return response.StatusCode
}

// ask sends a request, reads the JSON of the answer into v, if not nil, and
// returns the status.
func ask(t *testing.T, method, url, body string, v any) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	if v != nil {
		require.NoError(t, json.NewDecoder(response.Body).Decode(v))
	}
	return response.StatusCode
}

// Three tiers of three attempts each make 3³ calls of one request.
func TestRetriesOfTiersMultiply(t *testing.T) {
	c, server := chain(t, "random-failures", map[string]any{"delay": 0, "failureRate": 1},
		service.Tier{Policy: tries(3, time.Second)}, service.Tier{Policy: tries(3, time.Second)}, service.Tier{Policy: tries(3, time.Second)})
	assert.Equal(t, 503, get(t, c.URL()+"/call", nil))
	assert.EqualValues(t, 27, server.Server().Stats().Received)
	assert.Equal(t, service.ChainStats{Amplification: 27, Tiers: []service.TierStats{
		{Policy: "tries", Received: 1, Calls: 3, Amplification: 3},
		{Policy: "tries", Received: 3, Calls: 9, Amplification: 3},
		{Policy: "tries", Received: 9, Calls: 27, Amplification: 3},
	}}, c.Stats())
	c.Reset()
	assert.Equal(t, service.ChainStats{Tiers: []service.TierStats{{Policy: "tries"}, {Policy: "tries"}, {Policy: "tries"}}}, c.Stats())
}

// The first tier's address is all that a load tool needs.
func TestFirstTierStandsForTheServerAtTheEnd(t *testing.T) {
	c, server := chain(t, "random-failures", map[string]any{"delay": 0, "failureRate": 1},
		service.Tier{Policy: tries(2, time.Second)}, service.Tier{Policy: tries(3, time.Second), PassDeadline: true})
	get(t, c.URL()+"/call", nil)
	var account service.Account
	assert.Equal(t, 200, ask(t, "GET", c.URL()+"/stats", "", &account))
	assert.Equal(t, "random-failures", account.Scenario)
	assert.EqualValues(t, 6, account.Received)
	assert.Equal(t, c.Stats(), account.ChainStats)
	assert.Equal(t, 6.0, account.Amplification)
	assert.True(t, account.Tiers[1].PassDeadline)
	var tiers service.ChainStats
	assert.Equal(t, 200, ask(t, "GET", c.URL()+"/tiers", "", &tiers))
	assert.Equal(t, c.Stats(), tiers)

	assert.Equal(t, 200, ask(t, "PUT", c.URL()+"/scenario", `{"scenario": "fixed-delay", "params": {"delay": 0}}`, nil))
	assert.Equal(t, "fixed-delay", server.Server().Config().Scenario.Name())
	assert.Equal(t, 200, ask(t, "POST", c.URL()+"/reset", "", nil))
	assert.Zero(t, server.Server().Stats().Received)
	assert.Zero(t, c.Stats().Tiers[1].Calls)
	assert.Equal(t, 200, get(t, c.URL()+"/call", nil))

	assert.Equal(t, 405, ask(t, "GET", c.URL()+"/reset", "", nil))
	assert.Equal(t, 405, ask(t, "POST", c.URL()+"/tiers", "", nil))
	assert.EqualValues(t, 1, c.Stats().Tiers[0].Received, "it was not reset by that")
	assert.Equal(t, 404, ask(t, "GET", c.URL()+"/nope", "", nil))
	assert.Equal(t, 200, ask(t, "HEAD", c.URL()+"/stats", "", nil))
	assert.Equal(t, 200, ask(t, "GET", c.URL()+"/healthz", "", nil))
	assert.Equal(t, 413, ask(t, "POST", c.URL()+"/call", strings.Repeat("x", downstream.MaxBody+1), nil))
}

func TestServerAtTheEndThatIsGoneOrNoneOfOurs(t *testing.T) {
	end := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	c, err := service.StartChain(service.ChainConfig{Next: end.URL, Tiers: []service.Tier{{Policy: tries(1, time.Second)}}})
	require.NoError(t, err)
	defer c.Close(context.Background())
	assert.Equal(t, 200, get(t, c.URL()+"/call", nil))
	assert.Equal(t, 502, ask(t, "GET", c.URL()+"/stats", "", nil))
	end.Close()
	assert.Equal(t, 503, get(t, c.URL()+"/call", nil))
	assert.Equal(t, 502, ask(t, "GET", c.URL()+"/healthz", "", nil))
	assert.Equal(t, 200, ask(t, "GET", c.URL()+"/tiers", "", nil))
}

func TestChainPassesASuccessThrough(t *testing.T) {
	c, server := chain(t, "fixed-delay", map[string]any{"delay": 0}, service.Tier{Policy: tries(3, time.Second)}, service.Tier{Policy: tries(1, time.Second)})
	assert.Equal(t, 200, get(t, c.URL()+"/call", nil))
	assert.EqualValues(t, 1, server.Server().Stats().Received)
	assert.EqualValues(t, 1, c.Stats().Tiers[1].Succeeded)
}

// A tier that does not pass its caller's deadline on goes on with its retries
// for nobody; one that does stops.
func TestDeadlineIsPassedOnOrNot(t *testing.T) {
	impatient := http.Header{"X-Envoy-Expected-Rq-Timeout-Ms": {"60"}}
	for _, pass := range []bool{true, false} {
		c, _ := chain(t, "fixed-delay", map[string]any{"delay": "300ms"},
			service.Tier{Policy: tries(4, 50*time.Millisecond), PassDeadline: pass})
		begin := time.Now()
		assert.Equal(t, 503, get(t, c.URL()+"/call", impatient.Clone()))
		took := time.Since(begin)
		if pass {
			assert.LessOrEqual(t, c.Stats().Tiers[0].Calls, int64(2), "60 ms are over in the second attempt")
			assert.GreaterOrEqual(t, took, 60*time.Millisecond)
		} else {
			assert.EqualValues(t, 4, c.Stats().Tiers[0].Calls)
			assert.GreaterOrEqual(t, took, 200*time.Millisecond)
		}
	}
}

func TestChainThatCannotBeStartedLeavesNothingRunning(t *testing.T) {
	_, err := service.StartChain(service.ChainConfig{})
	assert.EqualError(t, err, "tiers: 0 is not in 1 … 16")
	tiers := []service.Tier{{Policy: resilience.Config{}}, {Policy: tries(1, time.Second)}}
	_, err = service.StartChain(service.ChainConfig{Tiers: tiers, Next: "http://127.0.0.1:1"})
	assert.ErrorContains(t, err, "tiers[0]: name: is missing")
	_, err = service.StartChain(service.ChainConfig{Tiers: tiers, Next: "127.0.0.1:1"})
	assert.EqualError(t, err, `next: "127.0.0.1:1" is not an absolute URL`)
	_, err = service.StartChain(service.ChainConfig{Tiers: tiers[1:], Next: "http://127.0.0.1:1", Addr: "192.0.2.1:0"})
	assert.ErrorContains(t, err, "tiers[0]: listen 192.0.2.1:0: not a loopback address")
}

// Once a reset left a request that was in progress with a success and no request.
func TestAResetLeavesNothingOfARequestInProgress(t *testing.T) {
	c, server := chain(t, "latency-tail-spike", map[string]any{"delay": "1ms", "every": 1, "spike": "300ms"},
		service.Tier{Policy: tries(3, 200*time.Millisecond)}, service.Tier{Policy: tries(1, 5*time.Second)})
	got := make(chan int, 1)
	go func() { got <- get(t, c.URL()+"/call", nil) }()
	require.Eventually(t, func() bool { return server.Server().Stats().Inflight == 1 }, 5*time.Second, time.Millisecond)
	c.Reset()
	assert.Equal(t, http.StatusServiceUnavailable, <-got)
	// What the first tier has called the second for since then began after the reset.
	stats := c.Stats().Tiers
	assert.Zero(t, stats[0].Received)
	assert.Zero(t, stats[0].Calls)
	assert.EqualValues(t, 2, stats[1].Received)
}

// The retry of the first tier needs the second to be there still.
func TestAChainThatEndsKeepsTheTiersThatAreCalled(t *testing.T) {
	c, server := chain(t, "latency-tail-spike", map[string]any{"delay": "1ms", "every": 1, "spike": "400ms"},
		service.Tier{Policy: tries(3, 300*time.Millisecond)}, service.Tier{Policy: tries(1, 5*time.Second), PassDeadline: true})
	got := make(chan int, 1)
	go func() { got <- get(t, c.URL()+"/call", nil) }()
	require.Eventually(t, func() bool { return server.Server().Stats().Inflight == 1 }, 5*time.Second, time.Millisecond)
	require.NoError(t, c.Close(t.Context()))
	assert.Equal(t, http.StatusServiceUnavailable, <-got)
	assert.EqualValues(t, 3, server.Server().Stats().Received)
}

func TestAChainThatEndsAnswersWhatIsInProgress(t *testing.T) {
	c, server := chain(t, "fixed-delay", map[string]any{"delay": "300ms"}, service.Tier{Policy: tries(1, 5*time.Second)})
	got := make(chan int, 1)
	go func() { got <- get(t, c.URL()+"/call", nil) }()
	require.Eventually(t, func() bool { return server.Server().Stats().Inflight == 1 }, 5*time.Second, time.Millisecond)
	require.NoError(t, c.Close(t.Context()))
	assert.Equal(t, http.StatusOK, <-got)
}
