// Package yardstick holds the executors of Retry Lab against the libraries
// people use: the same work done by both, for speed (the benchmarks, and the
// command ratios) and for behaviour (the differential tests). It is a module
// of its own, so that nobody who uses Retry Lab depends on those libraries.
//
// docs/performance.md has the figures, and the table of all known differences
// in behaviour. Each of those has a test in differences_test.go.
package yardstick

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	exponential "github.com/cenkalti/backoff/v5"
	"github.com/failsafe-go/failsafe-go"
	failsafebulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	failsafetimeout "github.com/failsafe-go/failsafe-go/timeout"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/retrylab/retrylab/resilience/bulkhead"
	"github.com/sony/gobreaker/v2"
)

// Worker does n operations on one goroutine and says how many of them
// succeeded, which must be all of them.
type Worker func(n int) int

// Side is one implementation of a case: it makes the state that goroutines
// share, and returns what makes the worker of one goroutine.
type Side func() func() Worker

// Case is the same work done by two implementations.
type Case struct {
	Name    string
	Library string // whose Theirs is
	Ours    Side
	Theirs  Side
	// Most is the greatest ratio of times, ours to theirs, that Retry Lab
	// wants. 0: it wants none.
	Most float64
	// Allocs is the most that one operation of ours may allocate. Below 0: it
	// may allocate what it likes.
	Allocs int
}

// Cases are all comparisons, in the order in which they are printed.
func Cases() []Case {
	consecutive := breaker.Config{Window: breaker.Window{Consecutive: 6}}
	lastSecs := breaker.Config{Window: breaker.Window{Time: 10 * time.Second}, FailureRate: 0.5, MinCalls: 10}
	rolling := gobreaker.Settings{
		Interval: 10 * time.Second, BucketPeriod: time.Second,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.Requests >= 10 && 2*c.TotalFailures >= c.Requests },
	}
	return []Case{
		{"breaker, two steps", "gobreaker", breakerTwoSteps(consecutive), gobreakerTwoSteps(gobreaker.Settings{}), 1, 0},
		{"breaker, two steps, window of 10 s", "gobreaker", breakerTwoSteps(lastSecs), gobreakerTwoSteps(rolling), 1, 0},
		{"breaker around a call", "gobreaker", breakerAround(consecutive), gobreakerAround(gobreaker.Settings{}), 1, 0},
		{"policy of a breaker", "gobreaker", policySide(succeeding, oneBreaker()), gobreakerAround(gobreaker.Settings{}), 0, 0},
		{"policy of a breaker", "failsafe-go", policySide(succeeding, oneBreaker()), failsafeSide(succeedingError, circuitbreaker.NewBuilder[any]().WithFailureThreshold(6).Build()), 0, 0},
		{"retry, breaker, bulkhead", "failsafe-go", policySide(succeeding, stack()...), failsafeSide(succeedingError, failsafeStack()...), 0.5, 0},
		{"retry, breaker, bulkhead; one retry", "failsafe-go", policySide(failingFirst, stack()...), failsafeSide(failingFirstError, failsafeStack()...), 0.5, 2},
		{"retry, breaker, bulkhead, timeout", "failsafe-go",
			policySide(succeeding, append(stack(), resilience.TimeoutGuard{Limit: time.Second})...),
			failsafeSide(succeedingError, append(failsafeStack(), failsafetimeout.New[any](time.Second))...), 0, -1},
		{"ten delays of a backoff", "cenkalti/backoff", delays, cenkaltiDelays, 0, 0},
	}
}

// errCall is what a call fails with. Nobody allocates it anew.
var errCall = errors.New("the call failed")

func openFor(c breaker.Config) breaker.Config {
	c.OpenFor.Initial = time.Minute
	c.HalfOpen.Calls = 1
	return c
}

// breakerTwoSteps is the breaker without an executor, used as one uses it:
// Acquire and Done, each with a reading of the clock.
func breakerTwoSteps(c breaker.Config) Side {
	return func() func() Worker {
		b := must(breaker.New(openFor(c)))
		return func() Worker {
			return func(n int) (succeeded int) {
				for range n {
					begin := time.Now()
					permit, _, ok := b.Acquire(begin)
					if !ok {
						continue
					}
					took := time.Since(begin)
					if counted, _ := b.Done(permit, breaker.Result{Verdict: breaker.Success, Duration: took}, begin.Add(took)); counted {
						succeeded++
					}
				}
				return succeeded
			}
		}
	}
}

func gobreakerTwoSteps(s gobreaker.Settings) Side {
	return func() func() Worker {
		b := gobreaker.NewTwoStepCircuitBreaker[any](s)
		return func() Worker {
			return func(n int) (succeeded int) {
				for range n {
					done, err := b.Allow()
					if err != nil {
						continue
					}
					done(nil)
					succeeded++
				}
				return succeeded
			}
		}
	}
}

// breakerAround is the breaker around a call that may panic: what
// gobreaker's Execute is.
func breakerAround(c breaker.Config) Side {
	return func() func() Worker {
		b := must(breaker.New(openFor(c)))
		return func() Worker {
			call := func() (any, error) { return nil, nil }
			return func(n int) (succeeded int) {
				for range n {
					if _, err := execute(b, call); err == nil {
						succeeded++
					}
				}
				return succeeded
			}
		}
	}
}

var errOpen = errors.New("the breaker is open")

func execute(b *breaker.Breaker, call func() (any, error)) (value any, err error) {
	begin := time.Now()
	permit, _, ok := b.Acquire(begin)
	if !ok {
		return nil, errOpen
	}
	verdict := breaker.Failure // of a call that panics
	defer func() {
		took := time.Since(begin)
		b.Done(permit, breaker.Result{Verdict: verdict, Duration: took}, begin.Add(took))
	}()
	value, err = call()
	if err == nil {
		verdict = breaker.Success
	}
	return value, err
}

func gobreakerAround(s gobreaker.Settings) Side {
	return func() func() Worker {
		b := gobreaker.NewCircuitBreaker[any](s)
		return func() Worker {
			call := func() (any, error) { return nil, nil }
			return func(n int) (succeeded int) {
				for range n {
					if _, err := b.Execute(call); err == nil {
						succeeded++
					}
				}
				return succeeded
			}
		}
	}
}

func oneBreaker() resilience.Guard {
	return resilience.BreakerGuard{
		Config: openFor(breaker.Config{Window: breaker.Window{Consecutive: 6}}),
		Counts: resilience.DefaultCounts(),
	}
}

// stack is a retry without a wait around a breaker around a bulkhead. The
// breaker bears half of the attempts failing.
func stack() []resilience.Guard {
	return []resilience.Guard{
		resilience.RetryGuard{
			MaxAttempts: 3, Backoff: backoff.Schedule{Multiplier: 2, Max: time.Second},
			RetryOn: resilience.DefaultRetryOn(), MaxRetryAfter: time.Second,
		},
		resilience.BreakerGuard{
			Config: openFor(breaker.Config{Window: breaker.Window{Calls: 20}, FailureRate: 0.95, MinCalls: 20}),
			Counts: resilience.DefaultCounts(),
		},
		resilience.BulkheadGuard{Config: bulkhead.Config{MaxConcurrent: 16}},
	}
}

// failsafeStack is the same of failsafe-go.
func failsafeStack() []failsafe.Policy[any] {
	return []failsafe.Policy[any]{
		retrypolicy.NewBuilder[any]().WithMaxAttempts(3).ReturnLastFailure().Build(),
		circuitbreaker.NewBuilder[any]().WithFailureThresholdRatio(19, 20).WithSuccessThreshold(1).WithDelay(time.Minute).Build(),
		failsafebulkhead.New[any](16),
	}
}

// succeeding makes the call of one goroutine.
func succeeding() resilience.Call {
	return func(context.Context, resilience.Attempt) resilience.Result { return resilience.Result{} }
}

func succeedingError() func() (any, error) { return func() (any, error) { return nil, nil } }

// failingFirst makes a call whose first attempt fails and whose second
// succeeds, in turns. It counts for itself, as failingFirstError must too.
func failingFirst() resilience.Call {
	n := 0
	return func(context.Context, resilience.Attempt) resilience.Result {
		if n++; n%2 == 1 {
			return resilience.Result{Outcome: resilience.HTTP5xx, Err: errCall}
		}
		return resilience.Result{}
	}
}

func failingFirstError() func() (any, error) {
	n := 0
	return func() (any, error) {
		if n++; n%2 == 1 {
			return nil, errCall
		}
		return nil, nil
	}
}

func policySide(makeCall func() resilience.Call, guards ...resilience.Guard) Side {
	return func() func() Worker {
		p := must(resilience.New(resilience.Config{Name: "yardstick", Guards: guards}))
		return func() Worker {
			request := resilience.Request{Call: makeCall()}
			return func(n int) (succeeded int) {
				ctx := context.Background()
				for range n {
					if report := p.Do(ctx, request); report.End == resilience.Success {
						succeeded++
					}
				}
				return succeeded
			}
		}
	}
}

func failsafeSide(makeCall func() func() (any, error), policies ...failsafe.Policy[any]) Side {
	return func() func() Worker {
		executor := failsafe.With(policies...)
		return func() Worker {
			call := makeCall()
			return func(n int) (succeeded int) {
				for range n {
					if _, err := executor.Get(call); err == nil {
						succeeded++
					}
				}
				return succeeded
			}
		}
	}
}

// delaysPerOp is how many delays one operation of a backoff computes.
const delaysPerOp = 10

// delays is a schedule of 75 ms, doubling, up to 10 s, ± 50 %.
func delays() func() Worker {
	s := backoff.Schedule{
		Initial: 75 * time.Millisecond, Multiplier: 2, Max: 10 * time.Second,
		Jitter: backoff.Factor, Fraction: 0.5,
	}
	return func() Worker {
		return func(n int) (succeeded int) {
			for range n {
				var d time.Duration
				for k := range delaysPerOp {
					d = s.Delay(k+1, d, rand.Float64())
				}
				if d > 0 {
					succeeded++
				}
			}
			return succeeded
		}
	}
}

func cenkaltiDelays() func() Worker {
	return func() Worker {
		s := &exponential.ExponentialBackOff{
			InitialInterval: 75 * time.Millisecond, Multiplier: 2, MaxInterval: 10 * time.Second, RandomizationFactor: 0.5,
		}
		return func(n int) (succeeded int) {
			for range n {
				s.Reset()
				var d time.Duration
				for range delaysPerOp {
					d = s.NextBackOff()
				}
				if d > 0 {
					succeeded++
				}
			}
			return succeeded
		}
	}
}

// must is for configurations that are written in this package.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
