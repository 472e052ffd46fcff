package theory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/theory"
)

const ms = time.Millisecond

func scenario(name string, params map[string]float64) theory.Scenario {
	return theory.Scenario{Name: name, Params: params}
}

func TestFailureProbability(t *testing.T) {
	fixed := scenario("fixed-delay", map[string]float64{"delay_ms": 220})
	random := scenario("random-failures", map[string]float64{"delay_ms": 120, "failure_rate": .35})
	spike := scenario("latency-tail-spike", map[string]float64{"delay_ms": 90, "every": 6, "spike_ms": 650})
	gray := scenario("gray", map[string]float64{"instances": 5, "delay_ms": 50, "bad_delay_ms": 1000, "bad_failure_rate": .1})
	payments := scenario("payments", map[string]float64{"delay_ms": 120, "hang_rate": .6, "hang_ms": 30000})
	for _, c := range []struct {
		name    string
		s       theory.Scenario
		timeout time.Duration
		want    float64
	}{
		{"slower than the timeout", fixed, 180 * ms, 1},
		{"as slow as the timeout", fixed, 220 * ms, 1},
		{"in time", fixed, 260 * ms, 0},
		{"no timeout", fixed, 0, 0},
		{"random", random, 260 * ms, .35},
		{"random and late", random, 100 * ms, 1},
		{"spike late", spike, 260 * ms, 1.0 / 6},
		{"spike in time", spike, time.Second, 0},
		{"all late", spike, 90 * ms, 1},
		{"bad instance late", gray, 260 * ms, .2},
		{"bad instance in time", gray, 2 * time.Second, .02},
		{"good instances late", gray, 50 * ms, 1},
		{"never answered", payments, 260 * ms, .6},
		{"answered late", payments, 100 * ms, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := theory.FailureProbability(c.s, c.timeout).Value()
			require.True(t, ok)
			require.Equal(t, c.want, got)
		})
	}
}

func TestFailureProbabilityOutsideModel(t *testing.T) {
	for _, c := range []struct {
		s    theory.Scenario
		want string
	}{
		{scenario("progressive-degradation", nil), "load so far"},
		{scenario("outage", nil), `scenario "outage"`},
		{scenario("", nil), "not known"},
		{scenario("fixed-delay", nil), "delay_ms is not known"},
		{scenario("random-failures", map[string]float64{"delay_ms": 1, "failure_rate": 35}), "35 is not in 0 to 1"},
		{scenario("latency-tail-spike", map[string]float64{"delay_ms": 1, "every": 0, "spike_ms": 9}), "every 0 is not at least 1"},
		{scenario("latency-tail-spike", map[string]float64{"delay_ms": 1, "every": 6}), "spike_ms is not known"},
		{scenario("gray", map[string]float64{"delay_ms": 1, "instances": 0}), "instances 0 is not at least 1"},
		{scenario("gray", map[string]float64{"delay_ms": 1, "instances": 2, "bad_delay_ms": 1}), "bad_failure_rate is not known"},
		{scenario("payments", map[string]float64{"delay_ms": 1, "hang_rate": 2}), "2 is not in 0 to 1"},
	} {
		e := theory.FailureProbability(c.s, 260*ms)
		_, ok := e.Value()
		require.False(t, ok, c.want)
		require.Contains(t, e.Reason(), c.want)
	}
}

func TestExpect(t *testing.T) {
	random := scenario("random-failures", map[string]float64{"delay_ms": 120, "failure_rate": .35})
	retry := theory.Policy{Guards: []string{"retry", "timeout"}, MaxAttempts: 3, AttemptTimeout: 260 * ms}
	got := theory.Expect(retry, random, 40)
	success, ok := got.Success.Value()
	require.True(t, ok)
	require.InDelta(t, .957125, success, 1e-12)
	amplification, _ := got.Amplification.Value()
	require.InDelta(t, 1.4725, amplification, 1e-12)
	require.Equal(t, 3, got.Attempts)

	one := theory.Expect(theory.Policy{Guards: []string{"timeout"}, AttemptTimeout: 260 * ms}, random, 40)
	success, _ = one.Success.Value()
	require.InDelta(t, .65, success, 1e-12)
	require.Equal(t, 1, one.Attempts)
}

func TestExpectOutsideModel(t *testing.T) {
	random := scenario("random-failures", map[string]float64{"delay_ms": 120, "failure_rate": .35})
	spike := scenario("latency-tail-spike", map[string]float64{"delay_ms": 90, "every": 6, "spike_ms": 650})
	for _, c := range []struct {
		want    string
		s       theory.Scenario
		callers int
		guards  []string
		budget  bool
	}{
		{"the breaker decides by its state", random, 40, []string{"retry", "breaker", "timeout"}, false},
		{"the bulkhead decides by its state", random, 40, []string{"retry", "timeout", "bulkhead"}, false},
		{"the retry budget decides", random, 40, []string{"retry", "timeout"}, true},
		{"the retry budget decides", random, 40, []string{"retry", "budget", "timeout"}, false},
		{"the hedge", random, 40, []string{"hedge"}, false},
		{"around the retry", random, 40, []string{"timeout", "retry"}, false},
		{"retry inside of a retry", random, 40, []string{"retry", "retry"}, false},
		{`guard "oracle"`, random, 40, []string{"oracle"}, false},
		{"guards are not known", random, 40, nil, false},
		{"with 5 callers", spike, 5, []string{"retry", "timeout"}, false},
		{"load so far", scenario("progressive-degradation", nil), 40, []string{"retry", "timeout"}, false},
	} {
		got := theory.Expect(theory.Policy{Guards: c.guards, MaxAttempts: 3, AttemptTimeout: 260 * ms, Budget: c.budget}, c.s, c.callers)
		for _, e := range []theory.Expectation{got.Failure, got.Success, got.Amplification} {
			_, ok := e.Value()
			require.False(t, ok, c.want)
			require.Contains(t, e.Reason(), c.want)
		}
	}
	got := theory.Expect(theory.Policy{Guards: []string{"retry"}}, random, 40)
	require.Contains(t, got.Success.Reason(), "most attempts")
	require.Equal(t, "no formula applies", theory.Expectation{}.Reason())
}
