package breaker_test

import (
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A rate of 0.07 took 8 failures of 100 once, because 0.07·100 is more than 7.
// So it was for 119 of the 5,050 rates k/n with n up to 100.
func TestExactlyTheRateOpens(t *testing.T) {
	for n := 1; n <= 100; n++ {
		for k := 1; k <= n; k++ {
			b, err := breaker.New(breaker.Config{
				Window: breaker.Window{Calls: n}, MinCalls: n, FailureRate: float64(k) / float64(n),
				OpenFor: breaker.OpenFor{Initial: time.Second}, HalfOpen: breaker.Probes{Calls: 1},
			})
			require.NoError(t, err)
			now := time.Unix(0, 0)
			for i := 1; i <= n; i++ {
				verdict := breaker.Failure
				if i < n && i > k-1 { // k−1 failures, then successes, then the k-th failure
					verdict = breaker.Success
				}
				p, _, ok := b.Acquire(now)
				require.True(t, ok, "%d of %d: result %d", k, n, i)
				b.Done(p, breaker.Result{Verdict: verdict}, now)
			}
			assert.Equal(t, breaker.Open, b.State(), "%d failures of %d", k, n)
		}
	}
}

// The same for the slow share of a half-open breaker's probes.
func TestExactlyTheSlowRateReopens(t *testing.T) {
	const probes = 25
	b, err := breaker.New(breaker.Config{
		Window: breaker.Window{Calls: 1}, MinCalls: 1, FailureRate: 1,
		SlowCall: breaker.SlowCall{Over: time.Second, Rate: 0.28}, // 0.28·25 is more than 7
		OpenFor:  breaker.OpenFor{Initial: time.Second}, HalfOpen: breaker.Probes{Calls: probes},
	})
	require.NoError(t, err)
	now := time.Unix(0, 0)
	p, _, _ := b.Acquire(now)
	b.Done(p, breaker.Result{Verdict: breaker.Failure}, now)
	require.Equal(t, breaker.Open, b.State())
	now = now.Add(time.Second)
	for i := range probes {
		p, _, ok := b.Acquire(now)
		require.True(t, ok)
		r := breaker.Result{Verdict: breaker.Success}
		if i < 7 {
			r.Duration = 2 * time.Second
		}
		b.Done(p, r, now)
	}
	assert.Equal(t, breaker.Open, b.State())
}

// A permit that is granted without the lock belongs to its generation like
// any other: what was permitted before the breaker was forced, or before it
// opened and closed again, does not count.
func TestPermitsOfAClosedBreakerCarryItsGeneration(t *testing.T) {
	b, err := breaker.New(breaker.Config{
		Window:  breaker.Window{Consecutive: 1},
		OpenFor: breaker.OpenFor{Initial: time.Second}, HalfOpen: breaker.Probes{Calls: 1},
	})
	require.NoError(t, err)
	now := time.Unix(0, 0)
	late := func(p breaker.Permit) {
		t.Helper()
		counted, change := b.Done(p, breaker.Result{Verdict: breaker.Failure}, now)
		assert.False(t, counted)
		assert.False(t, change.Happened())
	}
	acquire := func() breaker.Permit {
		t.Helper()
		p, _, ok := b.Acquire(now)
		require.True(t, ok)
		return p
	}

	p := acquire()
	b.Force(breaker.Closed, now) // closed already: the generation changes all the same
	late(p)

	p = acquire()
	b.Force(breaker.Disabled, now)
	late(p)
	late(acquire())

	b.Force(breaker.Closed, now)
	early, opens := acquire(), acquire()
	_, change := b.Done(opens, breaker.Result{Verdict: breaker.Failure}, now)
	require.Equal(t, breaker.Open, change.To)
	_, _, ok := b.Acquire(now)
	assert.False(t, ok)
	now = now.Add(time.Second)
	_, change = b.Done(acquire(), breaker.Result{Verdict: breaker.Success}, now)
	require.Equal(t, breaker.Closed, change.To)
	late(early)
	counted, _ := b.Done(acquire(), breaker.Result{Verdict: breaker.Failure}, now)
	assert.True(t, counted)
}
