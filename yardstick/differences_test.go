package yardstick

// Where Retry Lab and the yardstick libraries do different things with the
// same calls: one test for each, which shows both. The table in
// docs/performance.md names them all with the reason; TestEveryDifferenceIsInTheDocument
// keeps the two alike. A test that fails because a library has changed says
// that its row is out of date.

import (
	"context"
	"errors"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	exponential "github.com/cenkalti/backoff/v5"
	"github.com/failsafe-go/failsafe-go"
	failsafebulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/retrylab/retrylab/resilience/bulkhead"
	"github.com/sony/gobreaker/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryDifferenceIsInTheDocument(t *testing.T) {
	document, err := os.ReadFile("../docs/performance.md")
	require.NoError(t, err)
	source, err := os.ReadFile("differences_test.go")
	require.NoError(t, err)
	var here, there []string
	for _, m := range regexp.MustCompile(`(?m)^func (TestDiffers\w+)`).FindAllSubmatch(source, -1) {
		here = append(here, string(m[1]))
	}
	for _, m := range regexp.MustCompile("`(TestDiffers\\w+)`").FindAllSubmatch(document, -1) {
		there = append(there, string(m[1]))
	}
	assert.NotEmpty(t, here)
	assert.ElementsMatch(t, here, there)
}

// open makes a gobreaker and a breaker of ours that trip at one failure, and
// opens them.
func open(t *testing.T, ours *breaker.Breaker, theirs *gobreaker.TwoStepCircuitBreaker[any]) {
	t.Helper()
	permit, _, ok := ours.Acquire(time.Now())
	require.True(t, ok)
	ours.Done(permit, breaker.Result{Verdict: breaker.Failure}, time.Now())
	require.Equal(t, breaker.Open, ours.State())
	done, err := theirs.Allow()
	require.NoError(t, err)
	done(errCall)
	require.Equal(t, gobreaker.StateOpen, theirs.State())
}

func TestDiffersGobreakerTurnsHalfOpenByBeingLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours := newBreaker(t, consecutiveBreaker(1, 1))
		changes := 0
		s := consecutiveSettings(1, 1)
		s.OnStateChange = func(string, gobreaker.State, gobreaker.State) { changes++ }
		theirs := gobreaker.NewTwoStepCircuitBreaker[any](s)
		stale, err := theirs.Allow()
		require.NoError(t, err)
		open(t, ours, theirs)
		time.Sleep(1001 * time.Millisecond)

		require.Equal(t, 1, changes)
		stale(nil) // the result itself is ignored, but it is a look too
		assert.Equal(t, 2, changes, "a result of an earlier state made it half-open, and told of that")
		assert.Equal(t, gobreaker.StateHalfOpen, theirs.State())
		assert.Equal(t, breaker.Open, ours.State(), "until a call asks")
	})
}

func TestDiffersGobreakerStaysOpenAtTheInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours := newBreaker(t, consecutiveBreaker(1, 1))
		theirs := gobreaker.NewTwoStepCircuitBreaker[any](consecutiveSettings(1, 1))
		open(t, ours, theirs)
		time.Sleep(time.Second)
		_, err := theirs.Allow()
		assert.ErrorIs(t, err, gobreaker.ErrOpenState)
		_, _, ok := ours.Acquire(time.Now())
		assert.True(t, ok)
		time.Sleep(time.Nanosecond)
		_, err = theirs.Allow()
		assert.NoError(t, err, "one nanosecond later")
	})
}

func TestDiffersGobreakerLooksAtItsWindowAfterFailuresAlone(t *testing.T) {
	c := consecutiveBreaker(0, 1)
	c.Window, c.MinCalls, c.FailureRate = breaker.Window{Calls: 100}, 4, 0.5
	ours := newBreaker(t, c)
	theirs := gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.Requests >= 4 && 2*c.TotalFailures >= c.Requests },
	})
	for _, verdict := range []breaker.Verdict{breaker.Failure, breaker.Failure, breaker.Failure, breaker.Success} {
		permit, _, _ := ours.Acquire(time.Now())
		done, err := theirs.Allow()
		require.NoError(t, err)
		ours.Done(permit, breaker.Result{Verdict: verdict}, time.Now())
		done(map[breaker.Verdict]error{breaker.Failure: errCall}[verdict])
	}
	assert.Equal(t, breaker.Open, ours.State(), "three of four have failed")
	assert.Equal(t, gobreaker.StateClosed, theirs.State())
}

func TestDiffersGobreakerCountsTheCallersCancellation(t *testing.T) {
	theirs := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{})
	ours := newPolicy(t, breakerGuard(consecutiveBreaker(6, 1)))
	for range 6 {
		_, err := theirs.Execute(func() (any, error) { return nil, context.Canceled })
		require.ErrorIs(t, err, context.Canceled)
		ours.Do(background, returning(resilience.Result{Outcome: resilience.Cancelled, Err: context.Canceled}))
	}
	assert.Equal(t, gobreaker.StateOpen, theirs.State(), "with the default settings")
	assert.Equal(t, breaker.Closed, ours.State().Breaker)
	assert.Zero(t, ours.State().Window)
}

func TestDiffersGobreakerWaitsForAProbeForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := consecutiveBreaker(1, 1)
		c.HalfOpen.MaxWait = time.Minute
		ours := newBreaker(t, c)
		theirs := gobreaker.NewTwoStepCircuitBreaker[any](consecutiveSettings(1, 1))
		open(t, ours, theirs)
		time.Sleep(2 * time.Second)
		_, err := theirs.Allow() // never ends
		require.NoError(t, err)
		_, _, ok := ours.Acquire(time.Now()) // never ends
		require.True(t, ok)
		time.Sleep(24 * time.Hour)
		_, err = theirs.Allow()
		assert.ErrorIs(t, err, gobreaker.ErrTooManyRequests)
		_, _, ok = ours.Acquire(time.Now())
		assert.True(t, ok)
	})
}

func TestDiffersGobreakerLosesThePermitOfAGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs := gobreaker.NewCircuitBreaker[any](consecutiveSettings(1, 1))
		ours := newPolicy(t, breakerGuard(consecutiveBreaker(1, 1)))
		_, _ = theirs.Execute(func() (any, error) { return nil, errCall })
		ours.Do(background, returning(failed))
		time.Sleep(2 * time.Second)
		go func() {
			_, _ = theirs.Execute(func() (any, error) { runtime.Goexit(); return nil, nil })
		}()
		go ours.Do(background, resilience.Request{Call: func(context.Context, resilience.Attempt) resilience.Result {
			runtime.Goexit()
			return resilience.Result{}
		}})
		synctest.Wait()
		time.Sleep(24 * time.Hour)
		_, err := theirs.Execute(func() (any, error) { return nil, nil })
		assert.ErrorIs(t, err, gobreaker.ErrTooManyRequests)
		assert.Equal(t, resilience.Success, ours.Do(background, returning(resilience.Result{})).End)
		assert.Equal(t, breaker.Closed, ours.State().Breaker)
	})
}

func TestDiffersGobreakerCountsAPanicAsAFailure(t *testing.T) {
	theirs := gobreaker.NewCircuitBreaker[any](consecutiveSettings(1, 1))
	ours := newPolicy(t, breakerGuard(consecutiveBreaker(1, 1)))
	assert.Equal(t, "bug", swallow(func() { _, _ = theirs.Execute(func() (any, error) { panic("bug") }) }))
	panics := resilience.Request{Call: func(context.Context, resilience.Attempt) resilience.Result { panic("bug") }}
	assert.Equal(t, "bug", swallow(func() { ours.Do(background, panics) }))
	assert.Equal(t, gobreaker.StateOpen, theirs.State())
	assert.Equal(t, breaker.Closed, ours.State().Breaker)

	guard := breakerGuard(consecutiveBreaker(1, 1))
	guard.Counts |= resilience.SetOf(resilience.Thrown)
	ours = newPolicy(t, guard)
	swallow(func() { ours.Do(background, panics) })
	assert.Equal(t, breaker.Open, ours.State().Breaker, "where the policy counts it")
}

// reader is an observer that reads the state of its policy.
type reader struct {
	policy *resilience.Policy
	read   []breaker.State
}

func (r *reader) Observe(e resilience.Event) {
	if e.Kind == resilience.BreakerChanged {
		r.read = append(r.read, r.policy.State().Breaker)
	}
}

func TestDiffersGobreakerTellsChangesUnderItsLock(t *testing.T) {
	var theirs *gobreaker.CircuitBreaker[any]
	s := consecutiveSettings(1, 1)
	told := make(chan struct{})
	s.OnStateChange = func(string, gobreaker.State, gobreaker.State) {
		go func() {
			theirs.State()
			close(told)
		}()
		// The reader gets as far as the lock, and no further before we return.
		for !waitsForALock("gobreaker/v2.(*CircuitBreaker[...]).State(") {
			select {
			case <-told:
				t.Error("the state could be read")
				return
			default:
				runtime.Gosched()
			}
		}
	}
	theirs = gobreaker.NewCircuitBreaker[any](s)
	_, _ = theirs.Execute(func() (any, error) { return nil, errCall })
	<-told

	ours := newPolicy(t, breakerGuard(consecutiveBreaker(1, 1)))
	r := &reader{policy: ours}
	request := returning(failed)
	request.Observer = r
	ours.Do(background, request)
	assert.Equal(t, []breaker.State{breaker.Open}, r.read)
}

// waitsForALock says whether a goroutine in this function waits for a mutex.
func waitsForALock(function string) bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, stack := range strings.Split(string(stacks), "\n\n") {
		first, _, _ := strings.Cut(stack, "\n")
		if strings.Contains(first, "sync.Mutex.Lock") && strings.Contains(stack, function) {
			return true
		}
	}
	return false
}

func TestDiffersGobreakerDropsResultsThatCrossItsInterval(t *testing.T) {
	for name, s := range map[string]gobreaker.Settings{
		"fixed":   {Interval: 10 * time.Second},
		"rolling": {Interval: 10 * time.Second, BucketPeriod: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s.ReadyToTrip = func(c gobreaker.Counts) bool { return c.TotalFailures >= 1 }
			theirs := gobreaker.NewTwoStepCircuitBreaker[any](s)
			c := consecutiveBreaker(0, 1)
			c.Window, c.MinCalls, c.FailureRate = breaker.Window{Time: 10 * time.Second}, 1, 1
			ours := newBreaker(t, c)
			for range 5 { // calls that fail after 11 s, as of a callee that hangs
				permit, _, ok := ours.Acquire(time.Now())
				if !ok {
					break
				}
				done, err := theirs.Allow()
				require.NoError(t, err)
				time.Sleep(11 * time.Second)
				done(errCall)
				ours.Done(permit, breaker.Result{Verdict: breaker.Failure}, time.Now())
				require.Equal(t, gobreaker.StateClosed, theirs.State(), name)
			}
			assert.Zero(t, theirs.Counts().TotalFailures, name)
			assert.Equal(t, breaker.Open, ours.State(), name)
		})
	}
}

func TestDiffersGobreakerCountsAResultTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours := newBreaker(t, consecutiveBreaker(1, 2))
		theirs := gobreaker.NewTwoStepCircuitBreaker[any](consecutiveSettings(1, 2))
		open(t, ours, theirs)
		time.Sleep(2 * time.Second)
		done, err := theirs.Allow()
		require.NoError(t, err)
		done(nil)
		done(nil)
		assert.Equal(t, gobreaker.StateClosed, theirs.State(), "one of two probes closed it")

		permit, _, ok := ours.Acquire(time.Now())
		require.True(t, ok)
		counted, _ := ours.Done(permit, breaker.Result{Verdict: breaker.Success}, time.Now())
		assert.True(t, counted)
		counted, _ = ours.Done(permit, breaker.Result{Verdict: breaker.Success}, time.Now())
		assert.False(t, counted)
		assert.Equal(t, breaker.HalfOpen, ours.State())
	})
}

func TestDiffersFailsafeBreakerLosesThePermitOfAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs := failsafeBreaker(1, 1, 1)
		executor := failsafe.With[any](theirs)
		ours := newPolicy(t, breakerGuard(consecutiveBreaker(1, 1)))
		_ = executor.Run(func() error { return errCall })
		ours.Do(background, returning(failed))
		time.Sleep(2 * time.Second)
		swallow(func() { _ = executor.Run(func() error { panic("bug") }) })
		swallow(func() {
			ours.Do(background, resilience.Request{Call: func(context.Context, resilience.Attempt) resilience.Result { panic("bug") }})
		})
		time.Sleep(24 * time.Hour)
		assert.ErrorIs(t, executor.Run(func() error { return nil }), circuitbreaker.ErrOpen)
		assert.True(t, theirs.IsHalfOpen())
		assert.Equal(t, resilience.Success, ours.Do(background, returning(resilience.Result{})).End)
	})
}

func TestDiffersFailsafeBulkheadLosesThePermitOfAPanic(t *testing.T) {
	executor := failsafe.With[any](failsafebulkhead.New[any](1))
	ours := newPolicy(t, resilience.BulkheadGuard{Config: bulkhead.Config{MaxConcurrent: 1}})
	swallow(func() { _ = executor.Run(func() error { panic("bug") }) })
	swallow(func() {
		ours.Do(background, resilience.Request{Call: func(context.Context, resilience.Attempt) resilience.Result { panic("bug") }})
	})
	assert.ErrorIs(t, executor.Run(func() error { return nil }), failsafebulkhead.ErrFull)
	assert.Equal(t, resilience.Success, ours.Do(background, returning(resilience.Result{})).End)
	assert.Equal(t, 1, ours.State().Available)
}

func TestDiffersFailsafeStaleSuccessClosesAHalfOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := newBreaker(t, consecutiveBreaker(1, 1)), failsafeBreaker(1, 1, 1)
		early, _, _ := ours.Acquire(time.Now()) // ends much later
		fails, _, _ := ours.Acquire(time.Now())
		require.True(t, theirs.TryAcquirePermit())
		require.True(t, theirs.TryAcquirePermit())
		ours.Done(fails, breaker.Result{Verdict: breaker.Failure}, time.Now())
		theirs.RecordFailure()
		time.Sleep(time.Second)
		_, _, ok := ours.Acquire(time.Now()) // a probe, which has not ended
		require.True(t, ok)
		require.True(t, theirs.TryAcquirePermit())
		require.True(t, theirs.IsHalfOpen())

		counted, change := ours.Done(early, breaker.Result{Verdict: breaker.Success}, time.Now())
		theirs.RecordSuccess()
		assert.True(t, theirs.IsClosed())
		assert.Equal(t, breaker.HalfOpen, ours.State())
		assert.False(t, counted)
		assert.False(t, change.Happened())
	})
}

func TestDiffersFailsafeLetsMoreProbesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := newBreaker(t, consecutiveBreaker(1, 2)), failsafeBreaker(1, 1, 2)
		go2 := gobreaker.NewTwoStepCircuitBreaker[any](consecutiveSettings(1, 2))
		open(t, ours, go2)
		theirs.RecordFailure()
		time.Sleep(1001 * time.Millisecond)

		first, _, _ := ours.Acquire(time.Now())
		_, _, ok := ours.Acquire(time.Now())
		require.True(t, ok)
		done, err := go2.Allow()
		require.NoError(t, err)
		_, err = go2.Allow()
		require.NoError(t, err)
		require.True(t, theirs.TryAcquirePermit())
		require.True(t, theirs.TryAcquirePermit())
		require.False(t, theirs.TryAcquirePermit())

		ours.Done(first, breaker.Result{Verdict: breaker.Success}, time.Now())
		done(nil)
		theirs.RecordSuccess()
		assert.True(t, theirs.TryAcquirePermit(), "a third call of two")
		_, _, ok = ours.Acquire(time.Now())
		assert.False(t, ok)
		_, err = go2.Allow()
		assert.ErrorIs(t, err, gobreaker.ErrTooManyRequests, "gobreaker is as ours here")
	})
}

func TestDiffersFailsafeOpensBeforeItsWindowIsFull(t *testing.T) {
	c := consecutiveBreaker(0, 1)
	c.Window, c.MinCalls, c.FailureRate = breaker.Window{Calls: 20}, 20, 0.5
	ours, theirs := newBreaker(t, c), failsafeBreaker(10, 20, 1)
	for range 10 {
		permit, _, _ := ours.Acquire(time.Now())
		require.True(t, theirs.TryAcquirePermit())
		ours.Done(permit, breaker.Result{Verdict: breaker.Failure}, time.Now())
		theirs.RecordFailure()
	}
	assert.True(t, theirs.IsOpen(), "10 of 10")
	assert.Equal(t, breaker.Closed, ours.State(), "minCalls is 20")
}

func TestDiffersFailsafeTakesWhatItDoesNotCountForASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs := circuitbreaker.NewBuilder[any]().HandleErrors(errCall).WithDelay(time.Second).Build()
		executor := failsafe.With[any](theirs)
		ours := newPolicy(t, breakerGuard(consecutiveBreaker(1, 1)))
		_ = executor.Run(func() error { return errCall })
		ours.Do(background, returning(failed))
		time.Sleep(time.Second)
		_ = executor.Run(func() error { return context.Canceled })
		ours.Do(background, returning(resilience.Result{Outcome: resilience.Cancelled, Err: context.Canceled}))
		assert.True(t, theirs.IsClosed(), "a caller who left closed it")
		assert.Equal(t, breaker.HalfOpen, ours.State().Breaker)
	})
}

func TestDiffersFailsafeRetriesRefusals(t *testing.T) {
	executor := failsafe.With[any](retrypolicy.NewBuilder[any]().WithMaxAttempts(5).Build(), failsafeBreaker(1, 1, 1))
	theirCalls := 0
	err := executor.Run(func() error { theirCalls++; return errCall })
	var exceeded retrypolicy.ExceededError
	require.ErrorAs(t, err, &exceeded)
	assert.ErrorIs(t, exceeded.LastError, circuitbreaker.ErrOpen)
	assert.NotErrorIs(t, err, errCall)
	assert.Equal(t, 1, theirCalls)

	ours := newPolicy(t, retryGuard(5, backoff.Schedule{}), breakerGuard(consecutiveBreaker(1, 1)))
	report := ours.Do(background, returning(failed))
	assert.Equal(t, 2, report.Attempts, "the refusal of the second ended the request")
	assert.Equal(t, 1, report.Calls)
	assert.Equal(t, resilience.RejectedByGuard, report.End)
}

func TestDiffersFailsafeWaitsBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(background, 100*time.Millisecond)
		defer cancel()
		begin := time.Now()
		ours := newPolicy(t, retryGuard(3, backoff.Schedule{Initial: time.Second, Multiplier: 1, Max: time.Second}))
		report := ours.Do(ctx, returning(failed))
		assert.Zero(t, time.Since(begin), "no wait that cannot end in time")
		assert.ErrorIs(t, report.Err, errCall)

		theirs := failsafe.With[any](retrypolicy.NewBuilder[any]().WithDelay(time.Second).Build()).WithContext(ctx)
		err := theirs.Run(func() error { return errCall })
		assert.Equal(t, 100*time.Millisecond, time.Since(begin))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, errCall, "the last cause is lost")
	})
}

func TestDiffersFailsafeCallsForACallerWhoHasLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	cancel()
	ours := newPolicy(t, retryGuard(3, backoff.Schedule{}), breakerGuard(consecutiveBreaker(1, 1)))
	assert.Zero(t, ours.Do(ctx, returning(failed)).Calls)

	calls := 0
	theirs := failsafe.With[any](retrypolicy.NewWithDefaults[any](), failsafeBreaker(5, 5, 1)).WithContext(ctx)
	_ = theirs.Run(func() error { calls++; return errCall })
	assert.Equal(t, 1, calls)
}

func TestDiffersFailsafeBulkheadTossesACoinForACallerWhoHasLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	cancel()
	ours := newPolicy(t, resilience.BulkheadGuard{Config: bulkhead.Config{MaxConcurrent: 1}})
	theirs := failsafe.With[any](failsafebulkhead.New[any](1)).WithContext(ctx)
	theirCalls, ourCalls := 0, 0
	const times = 200
	for range times {
		_ = theirs.Run(func() error { theirCalls++; return nil })
		ourCalls += ours.Do(ctx, returning(resilience.Result{})).Calls
	}
	assert.Greater(t, theirCalls, 0)
	assert.Less(t, theirCalls, times)
	assert.Zero(t, ourCalls)
}

func TestDiffersFailsafeAndCenkaltiJitterBeyondTheMaximum(t *testing.T) {
	random := seeded(t)
	const most, n = time.Second, 1000
	s := backoff.Schedule{Initial: most, Multiplier: 2, Max: most, Jitter: backoff.Factor, Fraction: 0.5}
	theirs := &exponential.ExponentialBackOff{InitialInterval: most, Multiplier: 2, MaxInterval: most, RandomizationFactor: 0.5}
	theirs.Reset()
	var ours, cenkaltis time.Duration
	for k := 1; k <= n; k++ {
		ours = max(ours, s.Delay(k, 0, random.Float64()))
		cenkaltis = max(cenkaltis, theirs.NextBackOff())
	}
	var failsafes time.Duration
	for _, d := range failsafeDelays(t, n, retrypolicy.NewBuilder[any]().WithBackoff(most, 2*most).WithJitterFactor(0.5)) {
		failsafes = max(failsafes, d)
	}
	assert.Equal(t, most, ours)
	assert.Greater(t, cenkaltis, most)
	assert.Greater(t, failsafes, 2*most)
}

func TestDiffersFailsafeWrapsTheLastError(t *testing.T) {
	err := failsafe.With[any](retrypolicy.NewBuilder[any]().Build()).Run(func() error { return errCall })
	var exceeded retrypolicy.ExceededError
	assert.True(t, errors.As(err, &exceeded))
	assert.ErrorIs(t, err, errCall)
	report := newPolicy(t, retryGuard(3, backoff.Schedule{})).Do(background, returning(failed))
	assert.Equal(t, errCall, report.Err)
	assert.Equal(t, 3, report.Attempts)
}
