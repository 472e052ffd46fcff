package yardstick

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/sony/gobreaker/v2"
	"github.com/stretchr/testify/require"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random sequences; 0: a new one each time")

// seeded is a source of randomness whose seed is printed with a failure.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// sequences is how many random sequences a differential test drives.
const sequences = 60

func newBreaker(t *testing.T, c breaker.Config) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New(c)
	require.NoError(t, err)
	return b
}

// consecutiveBreaker opens for a second after n failures in a row.
func consecutiveBreaker(n, probes int) breaker.Config {
	return breaker.Config{
		Window:   breaker.Window{Consecutive: n},
		OpenFor:  breaker.OpenFor{Initial: time.Second},
		HalfOpen: breaker.Probes{Calls: probes},
	}
}

// consecutiveSettings are the same of gobreaker.
func consecutiveSettings(n, probes uint32) gobreaker.Settings {
	return gobreaker.Settings{
		Timeout: time.Second, MaxRequests: probes,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= n },
	}
}

func failsafeBreaker(failures, of, probes uint) circuitbreaker.CircuitBreaker[any] {
	return circuitbreaker.NewBuilder[any]().
		WithFailureThresholdRatio(failures, of).WithSuccessThreshold(probes).WithDelay(time.Second).Build()
}

func newPolicy(t *testing.T, guards ...resilience.Guard) *resilience.Policy {
	t.Helper()
	p, err := resilience.New(resilience.Config{Name: "test", Guards: guards})
	require.NoError(t, err)
	return p
}

func breakerGuard(c breaker.Config) resilience.BreakerGuard {
	return resilience.BreakerGuard{Config: c, Counts: resilience.DefaultCounts()}
}

func retryGuard(attempts int, b backoff.Schedule) resilience.RetryGuard {
	if b.Max == 0 {
		b.Multiplier, b.Max = 1, time.Second
	}
	return resilience.RetryGuard{MaxAttempts: attempts, Backoff: b, RetryOn: resilience.DefaultRetryOn()}
}

// returning is a request whose call returns this.
func returning(r resilience.Result) resilience.Request {
	return resilience.Request{Call: func(context.Context, resilience.Attempt) resilience.Result { return r }}
}

var (
	failed     = resilience.Result{Outcome: resilience.HTTP5xx, Err: errCall}
	background = context.Background()
)

// swallow calls f and gives back what it panics with.
func swallow(f func()) (panicked any) {
	defer func() { panicked = recover() }()
	f()
	return nil
}
