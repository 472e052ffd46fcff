package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/retrylab/retrylab/resilience/bulkhead"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// retry is a retry of three attempts that waits 75 and 150 ms.
func retry() resilience.RetryGuard {
	return resilience.RetryGuard{
		MaxAttempts:   3,
		Backoff:       backoff.Schedule{Initial: 75 * ms, Multiplier: 2, Max: time.Second},
		RetryOn:       resilience.DefaultRetryOn(),
		MaxRetryAfter: resilience.DefaultMaxRetryAfter,
	}
}

func breakerGuard(consecutive, halfOpen int) resilience.BreakerGuard {
	return resilience.BreakerGuard{
		Config: breaker.Config{
			Window:  breaker.Window{Consecutive: consecutive},
			OpenFor: breaker.OpenFor{Initial: time.Second}, HalfOpen: breaker.Probes{Calls: halfOpen},
		},
		Counts: resilience.DefaultCounts(),
	}
}

func full(n int) resilience.BulkheadGuard {
	return resilience.BulkheadGuard{Config: bulkhead.Config{MaxConcurrent: n}}
}

// tested is a policy with a shorter way to make a request.
type tested struct{ *resilience.Policy }

func (p tested) Do(ctx context.Context, call resilience.Call, o resilience.Observer) resilience.Report {
	return p.Policy.Do(ctx, resilience.Request{Call: call, Observer: o})
}

func policy(t *testing.T, guards ...resilience.Guard) tested {
	t.Helper()
	p, err := resilience.New(resilience.Config{Name: "test", Guards: guards}, resilience.WithRandom(func() float64 { return 0.5 }))
	require.NoError(t, err)
	return tested{p}
}

// answers is a call that takes some time and then gives these outcomes, the
// last one for ever.
func answers(takes time.Duration, outcomes ...resilience.Outcome) resilience.Call {
	n := 0
	return func(ctx context.Context, _ resilience.Attempt) resilience.Result {
		o := outcomes[min(n, len(outcomes)-1)]
		n++
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-timer.C:
			return resilience.Result{Outcome: o}
		case <-ctx.Done():
			return resilience.Result{Outcome: resilience.Cancelled, Err: ctx.Err()}
		}
	}
}

// log keeps the events it observes.
type log struct {
	mu     sync.Mutex
	events []resilience.Event
}

func (l *log) Observe(e resilience.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// lines are the events in short.
func (l *log) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, e := range l.events {
		line := fmt.Sprintf("%s %d %s", e.Kind, e.Attempt, e.AttemptKind)
		switch e.Kind {
		case resilience.AttemptEnded:
			line += fmt.Sprintf(" %s %v", e.Outcome, e.Duration)
			if e.Capped {
				line += " capped"
			}
		case resilience.Waiting:
			line += fmt.Sprintf(" %v", e.Duration)
		case resilience.Rejected:
			line += " " + e.Outcome.String()
		case resilience.BreakerChanged:
			line += fmt.Sprintf(" %s→%s", e.From, e.To)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRetryWaitsBetweenAttemptsAndStopsAtTheFirstSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen log
		p := policy(t, retry(), resilience.TimeoutGuard{Limit: 260 * ms})
		report := p.Do(t.Context(), answers(10*ms, resilience.HTTP5xx, resilience.Reset, resilience.OK), &seen)
		assert.Equal(t, resilience.Success, report.End)
		assert.Equal(t, 3, report.Attempts)
		assert.Equal(t, 3, report.Calls)
		assert.Equal(t, 225*ms, report.Waited)
		assert.Equal(t, 255*ms, report.Duration)
		assert.Equal(t, []string{
			"attempt started 1 first", "attempt ended 1 first http_5xx 10ms", "waiting 1 first 75ms",
			"attempt started 2 retry", "attempt ended 2 retry reset 10ms", "waiting 2 retry 150ms",
			"attempt started 3 retry", "attempt ended 3 retry ok 10ms",
		}, seen.lines())
	})
}

func TestRetryDoesNotWaitAfterItsLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report := policy(t, retry()).Do(t.Context(), answers(10*ms, resilience.HTTP5xx), nil)
		assert.Equal(t, resilience.Failed, report.End)
		assert.Equal(t, resilience.HTTP5xx, report.Outcome)
		assert.Equal(t, 3, report.Calls)
		assert.Equal(t, 255*ms, report.Duration, "3 × 10 ms and the two waits")
		require.Error(t, report.Err)
	})
}

func TestOnlyTransientFailuresAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for o, calls := range map[resilience.Outcome]int{
			resilience.HTTP4xx: 1, resilience.HTTP429: 3, resilience.HTTP5xx: 3, resilience.Timeout: 3,
			resilience.Connect: 3, resilience.Reset: 3, resilience.Thrown: 3, resilience.Cancelled: 1,
		} {
			assert.Equal(t, calls, policy(t, retry()).Do(t.Context(), answers(0, o), nil).Calls, o)
		}
	})
}

func TestTimeoutInsideRetryCapsEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen log
		p := policy(t, retry(), resilience.TimeoutGuard{Limit: 260 * ms})
		report := p.Do(t.Context(), answers(400*ms, resilience.OK), &seen)
		assert.Equal(t, resilience.Timeout, report.Outcome)
		assert.Equal(t, 3, report.Timeouts)
		assert.ErrorIs(t, report.Err, context.DeadlineExceeded)
		var timeout *resilience.TimeoutError
		require.ErrorAs(t, report.Err, &timeout)
		assert.Equal(t, 260*ms, timeout.Limit)
		assert.Contains(t, seen.lines(), "attempt ended 3 retry timeout 260ms capped")
	})
}

func TestTimeoutOutsideRetryEndsTheWaitAndTellsBothCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := errors.New("the last cause")
		r := retry()
		r.Backoff.Initial = 75 * ms
		p := policy(t, resilience.TimeoutGuard{Limit: 100 * ms}, r)
		// the first wait of 75 ms fits into what is left when it begins
		report := p.Do(t.Context(), func(context.Context, resilience.Attempt) resilience.Result {
			time.Sleep(20 * ms)
			return resilience.Result{Outcome: resilience.HTTP5xx, Err: last}
		}, nil)
		assert.Equal(t, resilience.Timeout, report.Outcome, "the second attempt came back too late")
		assert.Equal(t, 2, report.Calls)

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*ms, cancel)
		report = policy(t, r).Do(ctx, func(context.Context, resilience.Attempt) resilience.Result {
			return resilience.Result{Outcome: resilience.HTTP5xx, Err: last}
		}, nil)
		assert.Equal(t, resilience.Cancelled, report.Outcome)
		assert.Equal(t, 50*ms, report.Duration, "a wait ends at once")
		assert.ErrorIs(t, report.Err, context.Canceled)
		assert.ErrorIs(t, report.Err, last)
		assert.Equal(t, 1, report.Calls)
	})
}

func TestDeadlineShorterThanTheWaitEndsTheRequestNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, resilience.TimeoutGuard{Limit: 80 * ms}, retry())
		report := p.Do(t.Context(), answers(10*ms, resilience.HTTP5xx), nil)
		assert.Equal(t, resilience.HTTP5xx, report.Outcome, "its own last cause, not a timeout")
		assert.Equal(t, 10*ms, report.Duration)
	})
}

func TestCallersOwnCancellationIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*ms)
		defer cancel()
		report := policy(t, retry(), resilience.TimeoutGuard{Limit: 260 * ms}).Do(ctx, answers(time.Second, resilience.OK), nil)
		assert.Equal(t, resilience.Cancelled, report.Outcome)
		assert.Zero(t, report.Timeouts)
		assert.Equal(t, 1, report.Calls)
	})
}

func TestAnswerThatComesTooLateIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report := policy(t, resilience.TimeoutGuard{Limit: 100 * ms}).Do(t.Context(),
			func(context.Context, resilience.Attempt) resilience.Result {
				time.Sleep(101 * ms) // a call that does not look at its context
				return resilience.Result{Value: "late"}
			}, nil)
		assert.Equal(t, resilience.Timeout, report.Outcome)
		assert.Equal(t, "late", report.Value, "what came is still there to look at")
	})
}

func TestRetryAfterIsAFloorAndOneTooLongEndsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := func(wait time.Duration) resilience.Call {
			return func(context.Context, resilience.Attempt) resilience.Result {
				return resilience.Result{Outcome: resilience.HTTP429, RetryAfter: wait}
			}
		}
		assert.Equal(t, 2*300*ms, policy(t, retry()).Do(t.Context(), asks(300*ms), nil).Waited)
		assert.Equal(t, 225*ms, policy(t, retry()).Do(t.Context(), asks(10*ms), nil).Waited, "the backoff is longer")
		report := policy(t, retry()).Do(t.Context(), asks(time.Minute), nil)
		assert.Equal(t, 1, report.Calls)
		assert.Zero(t, report.Waited)
		deaf := retry()
		deaf.IgnoreRetryAfter = true
		assert.Equal(t, 225*ms, policy(t, deaf).Do(t.Context(), asks(time.Minute), nil).Waited)
	})
}

func TestBreakerInsideRetryCountsAttemptsAndEndsTheRequestWhenOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen log
		p := policy(t, retry(), breakerGuard(2, 1))
		report := p.Do(t.Context(), answers(10*ms, resilience.HTTP5xx), &seen)
		assert.Equal(t, resilience.RejectedByGuard, report.End)
		assert.Equal(t, resilience.BreakerOpen, report.Outcome)
		assert.Equal(t, 3, report.Attempts)
		assert.Equal(t, 2, report.Calls, "a refused attempt is no downstream call")
		assert.Equal(t, []string{
			"attempt started 1 first", "attempt ended 1 first http_5xx 10ms", "waiting 1 first 75ms",
			"attempt started 2 retry", "attempt ended 2 retry http_5xx 10ms", "breaker changed 2 retry closed→open", "waiting 2 retry 150ms",
			"rejected 3 retry breaker_open",
		}, seen.lines())
		report = p.Do(t.Context(), answers(0, resilience.OK), nil)
		assert.Zero(t, report.Calls)
		assert.Zero(t, report.Duration, "an open breaker answers at once")
	})
}

func TestBreakerOutsideRetryCountsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, breakerGuard(2, 1), retry())
		for range 2 {
			assert.Equal(t, 3, p.Do(t.Context(), answers(0, resilience.HTTP5xx), nil).Calls)
		}
		assert.Equal(t, resilience.BreakerOpen, p.Do(t.Context(), answers(0, resilience.OK), nil).Outcome)
	})
}

func TestNeutralOutcomesLeaveTheBreakerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, breakerGuard(1, 1))
		p.Do(t.Context(), answers(0, resilience.HTTP4xx), nil)
		p.Do(t.Context(), answers(0, resilience.HTTP429), nil)
		cancelled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(ms, cancel)
		p.Do(cancelled, answers(time.Second, resilience.OK), nil)
		assert.True(t, p.State().HasBreaker)
		assert.Equal(t, breaker.Closed, p.State().Breaker)
	})
}

// A timeout guard outside of the breaker cancels the call that the breaker
// guards: to the breaker that is a timeout, not the caller's cancellation.
func TestTimeoutOfAnOuterGuardCountsAgainstTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, resilience.TimeoutGuard{Limit: 100 * ms}, breakerGuard(1, 1))
		p.Do(t.Context(), answers(time.Second, resilience.OK), nil)
		assert.Equal(t, breaker.Open, p.State().Breaker)
	})
}

func TestFullBulkheadEndsTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, retry(), full(1))
		done := make(chan resilience.Report)
		go func() { done <- p.Do(t.Context(), answers(100*ms, resilience.OK), nil) }()
		synctest.Wait()
		report := p.Do(t.Context(), answers(0, resilience.OK), nil)
		assert.Equal(t, resilience.BulkheadFull, report.Outcome)
		assert.Equal(t, 1, report.Attempts, "a refusal is not retried unless the policy says so")
		assert.Equal(t, resilience.Success, (<-done).End)
		assert.Equal(t, resilience.Success, p.Do(t.Context(), answers(0, resilience.OK), nil).End)
	})
}

func TestRefusalIsRetriedWhereThePolicySaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := retry()
		r.RetryOn |= resilience.SetOf(resilience.BulkheadFull)
		p := policy(t, r, full(1))
		done := make(chan resilience.Report)
		go func() { done <- p.Do(t.Context(), answers(70*ms, resilience.OK), nil) }()
		synctest.Wait()
		report := p.Do(t.Context(), answers(0, resilience.OK), nil)
		assert.Equal(t, resilience.Success, report.End)
		assert.Equal(t, 2, report.Attempts)
		assert.Equal(t, 1, report.Calls)
		<-done
	})
}

func TestPanicPassesOnAndLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen log
		guard := breakerGuard(1, 1)
		guard.Counts |= resilience.SetOf(resilience.Thrown)
		p := policy(t, retry(), guard, full(1), resilience.TimeoutGuard{Limit: time.Second})
		assert.PanicsWithValue(t, "boom", func() {
			p.Do(t.Context(), func(context.Context, resilience.Attempt) resilience.Result { panic("boom") }, &seen)
		})
		assert.Zero(t, p.State().Inflight)
		assert.Equal(t, breaker.Open, p.State().Breaker, "it counts as thrown")
		assert.Contains(t, seen.lines(), "attempt ended 1 first thrown 0s")
		time.Sleep(time.Second)
		assert.Equal(t, resilience.Success, p.Do(t.Context(), answers(0, resilience.OK), nil).End, "probe and bulkhead permit are free")
	})
}

// badObserver does all that an observer must not.
type badObserver struct {
	p     tested
	seen  []breaker.State
	calls int
}

func (o *badObserver) Observe(e resilience.Event) {
	o.calls++
	if state := o.p.State(); e.Kind == resilience.BreakerChanged {
		o.seen = append(o.seen, state.Breaker)
	}
	panic("observer")
}

func TestObserverMayReadStateAndPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, retry(), breakerGuard(2, 1), full(1))
		o := &badObserver{p: p}
		report := p.Do(t.Context(), answers(0, resilience.HTTP5xx), o)
		assert.Equal(t, resilience.BreakerOpen, report.Outcome)
		assert.Equal(t, []breaker.State{breaker.Open}, o.seen)
		assert.Equal(t, 8, o.calls)
	})
}

// blocker holds the first breaker event up until it is let go.
type blocker struct {
	log
	once    sync.Once
	reached chan struct{}
	release chan struct{}
}

func (b *blocker) Observe(e resilience.Event) {
	if e.Kind != resilience.BreakerChanged {
		return
	}
	b.once.Do(func() {
		close(b.reached)
		<-b.release
	})
	b.log.Observe(e)
}

func TestBreakerChangesAreToldInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, breakerGuard(1, 1))
		o := &blocker{reached: make(chan struct{}), release: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.Do(t.Context(), answers(0, resilience.HTTP5xx), o) // opens, and is held up in telling so
		}()
		<-o.reached
		time.Sleep(time.Second)
		p.Do(t.Context(), answers(0, resilience.OK), o) // half-open and closed, while the first is not told yet
		assert.Empty(t, o.lines(), "nothing overtakes")
		close(o.release)
		<-done
		assert.Equal(t, []string{
			"breaker changed 1 first closed→open",
			"breaker changed 1 first open→half-open",
			"breaker changed 1 first half-open→closed",
		}, o.lines())
	})
}

func TestAttemptTellsItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []time.Duration
		p := policy(t, resilience.TimeoutGuard{Limit: 400 * ms}, retry(), resilience.TimeoutGuard{Limit: 260 * ms})
		p.Do(t.Context(), func(_ context.Context, a resilience.Attempt) resilience.Result {
			got = append(got, a.Timeout)
			time.Sleep(100 * ms)
			return resilience.Result{Outcome: resilience.HTTP5xx}
		}, nil)
		assert.Equal(t, []time.Duration{260 * ms, 225 * ms}, got, "the second is cut by the outer deadline at 400 ms")
	})
}

func TestNoGuardsIsOneBareAttempt(t *testing.T) {
	report := policy(t).Do(t.Context(), answers(0, resilience.HTTP5xx), nil)
	assert.Equal(t, 1, report.Calls)
	assert.Equal(t, resilience.Failed, report.End)
}

func TestNewNamesEveryFaultWithItsPath(t *testing.T) {
	_, err := resilience.New(resilience.Config{Guards: []resilience.Guard{
		resilience.RetryGuard{RetryOn: resilience.SetOf(resilience.Cancelled)},
		resilience.TimeoutGuard{},
		resilience.BreakerGuard{},
		full(0),
	}})
	for _, fault := range []string{
		"name: is missing", "guards[0].retry.maxAttempts: 0", "guards[0].retry.retryOn: ", "guards[1].timeout.duration: 0s",
		"guards[2].breaker.window: ", "guards[2].breaker.counts: ", "guards[3].bulkhead.maxConcurrent: 0",
	} {
		assert.ErrorContains(t, err, fault)
	}
}

func TestSuccessPathAllocatesNothing(t *testing.T) {
	p := policy(t, retry(), breakerGuard(3, 1), full(4))
	call := func(context.Context, resilience.Attempt) resilience.Result { return resilience.Result{} }
	ctx := context.Background()
	assert.Zero(t, testing.AllocsPerRun(1000, func() { p.Do(ctx, call, nil) }))
}

func TestNumbersOfRequestsAreUnique(t *testing.T) {
	p := policy(t)
	var mu sync.Mutex
	seen := make(map[uint64]bool)
	var wg sync.WaitGroup
	const goroutines, each = 16, 200
	for range goroutines {
		wg.Go(func() {
			for range each {
				var in uint64
				report := p.Do(t.Context(), func(_ context.Context, a resilience.Attempt) resilience.Result {
					in = a.Request
					return resilience.Result{}
				}, nil)
				mu.Lock()
				assert.Equal(t, in, report.Request)
				assert.False(t, seen[in], "%d was given twice", in)
				seen[in] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	assert.Len(t, seen, goroutines*each)
	assert.False(t, seen[0])
}
