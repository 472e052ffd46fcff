package service_test

import (
	"context"
	"io"
	"net/http"
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

// Three tiers of three attempts each make 3³ calls of one request.
func TestRetriesOfTiersMultiply(t *testing.T) {
	c, server := chain(t, "random-failures", map[string]any{"delay": 0, "failureRate": 1},
		service.Tier{Policy: tries(3, time.Second)}, service.Tier{Policy: tries(3, time.Second)}, service.Tier{Policy: tries(3, time.Second)})
	assert.Equal(t, 503, get(t, c.URL()+"/call", nil))
	assert.EqualValues(t, 27, server.Server().Stats().Received)
	assert.Equal(t, []service.TierStats{
		{Policy: "tries", Received: 1, Calls: 3, Amplification: 3},
		{Policy: "tries", Received: 3, Calls: 9, Amplification: 3},
		{Policy: "tries", Received: 9, Calls: 27, Amplification: 3},
	}, c.Stats())
	c.Reset()
	assert.Equal(t, service.TierStats{Policy: "tries"}, c.Stats()[0])
}

func TestChainPassesASuccessThrough(t *testing.T) {
	c, server := chain(t, "fixed-delay", map[string]any{"delay": 0}, service.Tier{Policy: tries(3, time.Second)}, service.Tier{Policy: tries(1, time.Second)})
	assert.Equal(t, 200, get(t, c.URL()+"/call", nil))
	assert.EqualValues(t, 1, server.Server().Stats().Received)
	assert.EqualValues(t, 1, c.Stats()[1].Succeeded)
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
			assert.LessOrEqual(t, c.Stats()[0].Calls, int64(2), "60 ms are over in the second attempt")
			assert.GreaterOrEqual(t, took, 60*time.Millisecond)
		} else {
			assert.EqualValues(t, 4, c.Stats()[0].Calls)
			assert.GreaterOrEqual(t, took, 200*time.Millisecond)
		}
	}
}

func TestChainThatCannotBeStartedLeavesNothingRunning(t *testing.T) {
	_, err := service.StartChain(service.ChainConfig{})
	assert.EqualError(t, err, "tiers: 0 is not in 1 … 16")
	_, err = service.StartChain(service.ChainConfig{Tiers: []service.Tier{
		{Policy: resilience.Config{}}, {Policy: tries(1, time.Second)},
	}})
	assert.ErrorContains(t, err, "tiers[0]: name: is missing")
}
