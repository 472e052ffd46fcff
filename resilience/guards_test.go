package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/retrylab/retrylab/resilience/budget"
	"github.com/retrylab/retrylab/resilience/bulkhead"
	"github.com/retrylab/retrylab/resilience/hedge"
	"github.com/retrylab/retrylab/resilience/ratelimit"
	"github.com/retrylab/retrylab/resilience/throttle"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func queue(n int, maxWait time.Duration, maxQueue int) resilience.BulkheadGuard {
	return resilience.BulkheadGuard{Config: bulkhead.Config{MaxConcurrent: n, MaxWait: maxWait, MaxQueue: maxQueue}}
}

func hedged(after time.Duration, most int) resilience.HedgeGuard {
	return resilience.HedgeGuard{Config: hedge.Config{After: after, Max: most}}
}

func spends(c budget.Config) resilience.RetryGuard {
	r := retry()
	r.Backoff.Initial = 0
	r.Budget = &c
	return r
}

// takes is a call whose n-th attempt takes times[n] (the last one for ever)
// and succeeds with its number as the value.
func takes(times ...time.Duration) resilience.Call {
	return func(ctx context.Context, a resilience.Attempt) resilience.Result {
		timer := time.NewTimer(times[min(a.Number, len(times))-1])
		defer timer.Stop()
		select {
		case <-timer.C:
			return resilience.Result{Value: a.Number}
		case <-ctx.Done():
			return resilience.Result{Outcome: resilience.Cancelled, Err: ctx.Err()}
		}
	}
}

func Test4xxEndsItsRequestAsFailedWithoutARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, breakerGuard(1, 1), retry())
		report := p.Do(t.Context(), answers(0, resilience.HTTP4xx), nil)
		assert.Equal(t, resilience.Failed, report.End)
		assert.Equal(t, 1, report.Calls)
		assert.Equal(t, breaker.Closed, p.State().Breaker)
	})
}

func TestRefusedAttemptIsNoDownstreamCallWhicheverGuardRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := breakerGuard(1, 1)
		for name, c := range map[string]struct {
			guard   resilience.Guard
			outcome resilience.Outcome
		}{
			"breaker":   {open, resilience.BreakerOpen},
			"bulkhead":  {full(1), resilience.BulkheadFull},
			"rateLimit": {resilience.RateLimitGuard{Config: ratelimit.Config{Permits: 1, Per: time.Hour}}, resilience.RateLimited},
			"throttle":  {resilience.ThrottleGuard{Config: throttle.Config{K: 1, Window: time.Minute}}, resilience.Throttled},
		} {
			p := policy(t, retry(), c.guard)
			release := make(chan struct{})
			done := make(chan struct{})
			go func() { // requests that hang, then fail; of most guards only the first gets through
				defer close(done)
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						p.Do(t.Context(), func(context.Context, resilience.Attempt) resilience.Result {
							<-release
							return resilience.Result{Outcome: resilience.HTTP5xx}
						}, nil)
					})
				}
				wg.Wait()
			}()
			synctest.Wait()
			if name == "breaker" {
				close(release)
				<-done
			}
			var seen log
			report := p.Do(t.Context(), answers(0, resilience.OK), &seen)
			assert.Equal(t, c.outcome, report.Outcome, name)
			assert.Equal(t, resilience.RejectedByGuard, report.End, name)
			assert.Zero(t, report.Calls, name)
			assert.Equal(t, []string{"rejected 1 first " + c.outcome.String()}, seen.lines(), name)
			if name != "breaker" {
				close(release)
				<-done
			}
		}
	})
}

func TestQueueOfABulkheadIsServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, queue(1, time.Second, 2))
		var order []int
		var mu sync.Mutex
		var wg sync.WaitGroup
		outcomes := make([]resilience.Report, 4)
		for i := range 4 {
			wg.Go(func() {
				outcomes[i] = p.Do(t.Context(), func(context.Context, resilience.Attempt) resilience.Result {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					time.Sleep(100 * ms)
					return resilience.Result{}
				}, nil)
			})
			synctest.Wait()
		}
		assert.Equal(t, 2, p.State().Waiting)
		wg.Wait()
		assert.Equal(t, []int{0, 1, 2}, order)
		assert.Equal(t, resilience.BulkheadFull, outcomes[3].Outcome, "the queue is full")
		assert.Equal(t, 200*ms, outcomes[2].Waited)
		assert.Equal(t, 1, p.State().Available)
	})
}

func TestWaitersThatGiveUpNeverGetAPermitLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, queue(1, 50*ms, 0))
		held := make(chan resilience.Report)
		go func() { held <- p.Do(t.Context(), answers(200*ms, resilience.OK), nil) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*ms, cancel)
		report := p.Do(ctx, answers(0, resilience.OK), nil)
		assert.Equal(t, resilience.Cancelled, report.Outcome)
		assert.Equal(t, 20*ms, report.Duration)
		report = p.Do(t.Context(), answers(0, resilience.OK), nil)
		assert.Equal(t, resilience.BulkheadFull, report.Outcome)
		assert.Equal(t, 50*ms, report.Duration)
		limited := policy(t, resilience.TimeoutGuard{Limit: 30 * ms}, queue(1, time.Second, 0))
		go limited.Do(t.Context(), answers(200*ms, resilience.OK), nil)
		<-held
		assert.Equal(t, 1, p.State().Available)
		assert.Zero(t, p.State().Waiting)
		time.Sleep(time.Second)
	})
}

func TestAPermitThatComesToOneWhoLeavesIsGivenBack(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			p := policy(t, queue(1, time.Second, 0))
			ctx, cancel := context.WithCancel(t.Context())
			go p.Do(t.Context(), func(context.Context, resilience.Attempt) resilience.Result {
				time.Sleep(20 * ms)
				cancel() // and at once the permit, which is handed to the one who is leaving
				return resilience.Result{}
			}, nil)
			synctest.Wait()
			p.Do(ctx, answers(0, resilience.OK), nil)
			time.Sleep(time.Second)
			assert.Equal(t, 1, p.State().Available)
		})
	}
}

func TestPermitsAreConservedUnderAnyMix(t *testing.T) {
	p := policy(t, queue(4, ms, 8), resilience.TimeoutGuard{Limit: time.Millisecond})
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			defer func() { _ = recover() }()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%5 == 0 {
				time.AfterFunc(300*time.Microsecond, cancel)
			}
			p.Do(ctx, func(ctx context.Context, _ resilience.Attempt) resilience.Result {
				switch i % 4 {
				case 0:
					panic("boom")
				case 1:
					<-ctx.Done()
				}
				return resilience.Result{Outcome: resilience.Outcome(i % 3)}
			}, nil)
		})
	}
	wg.Wait()
	s := p.State()
	assert.Equal(t, 4, s.Available)
	assert.Zero(t, s.Waiting)
	assert.Zero(t, s.Inflight)
}

func TestRateLimitWaitsForItsTurnOrRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, resilience.RateLimitGuard{Config: ratelimit.Config{Permits: 2, Per: time.Second, MaxWait: 600 * ms}})
		do := func() resilience.Report { return p.Do(t.Context(), answers(0, resilience.OK), nil) }
		assert.Zero(t, do().Waited)
		assert.Zero(t, do().Waited)
		assert.Equal(t, 500*ms, do().Waited)
		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		defer cancel()
		report := p.Do(ctx, answers(0, resilience.OK), nil)
		assert.Equal(t, resilience.Cancelled, report.Outcome)
		assert.Zero(t, report.Calls)
		assert.Equal(t, 400*ms, do().Waited, "what was waited for in vain was given back")
		p.Reset()
		over, end := context.WithCancel(t.Context())
		end()
		for range 5 {
			assert.Equal(t, resilience.Cancelled, p.Do(over, answers(0, resilience.OK), nil).Outcome)
		}
		assert.Zero(t, do().Waited)
		assert.Zero(t, do().Waited, "a request that nobody waits for takes no permit")
	})
}

func TestThrottleCountsAHungCallWhenItStartsAndDecaysWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, resilience.ThrottleGuard{Config: throttle.Config{K: 2, Window: time.Minute}})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { p.Do(ctx, answers(time.Hour, resilience.OK), nil) })
		}
		synctest.Wait()
		assert.InDelta(t, 3.0/4, p.State().Throttle, 1e-9, "(3 − 2·0) / (3 + 1)")
		assert.Equal(t, resilience.Throttled, p.Do(ctx, answers(0, resilience.OK), nil).Outcome, "u = 0.5")
		assert.InDelta(t, 4.0/5, p.State().Throttle, 1e-9, "a local rejection counts too")
		time.Sleep(2 * time.Minute)
		assert.Zero(t, p.State().Throttle)
		cancel()
		wg.Wait()
	})
}

func TestThrottleNeverRefusesForSure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, resilience.ThrottleGuard{Config: throttle.Config{K: 1, Window: time.Minute}})
		for range 10_000 {
			p.Do(t.Context(), answers(0, resilience.HTTP5xx), nil)
		}
		assert.Less(t, p.State().Throttle, 1.0)
		assert.Greater(t, p.State().Throttle, 0.99)
	})
}

func TestHedgeAnswersFirstAndTheLoserIsCancelledAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen log
		p := policy(t, hedged(100*ms, 1))
		report := p.Do(t.Context(), takes(time.Second, 30*ms), &seen)
		assert.Equal(t, resilience.Success, report.End)
		assert.Equal(t, 2, report.Value)
		assert.Equal(t, 130*ms, report.Duration)
		assert.Equal(t, 2, report.Attempts)
		assert.Equal(t, 2, report.Calls)
		assert.Equal(t, 1, report.Hedges)
		assert.Zero(t, report.Timeouts)
		assert.Equal(t, []string{
			"attempt started 1 first", "attempt started 2 hedge", "attempt ended 2 hedge ok 30ms", "attempt ended 1 first cancelled 130ms",
		}, seen.lines())
		assert.Zero(t, p.State().Inflight)
	})
}

func TestHedgeIsNotSentWhereTheFirstAnswersInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report := policy(t, hedged(100*ms, 3)).Do(t.Context(), takes(99*ms), nil)
		assert.Equal(t, 1, report.Calls)
		assert.Equal(t, 99*ms, report.Duration)
	})
}

func TestHedgesAreSentOneAfterTheOtherUpToTheirNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report := policy(t, hedged(100*ms, 2)).Do(t.Context(), takes(time.Second), nil)
		assert.Equal(t, 3, report.Calls)
		assert.Equal(t, time.Second, report.Duration, "the first was the first after all")
		assert.Equal(t, 1, report.Value)
	})
}

func TestFailureOfOneHedgedCallLeavesTheOthersTheChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, hedged(50*ms, 1))
		report := p.Do(t.Context(), func(ctx context.Context, a resilience.Attempt) resilience.Result {
			if a.Kind == resilience.Hedge {
				return resilience.Result{Outcome: resilience.HTTP5xx}
			}
			return takes(200*ms)(ctx, a)
		}, nil)
		assert.Equal(t, resilience.Success, report.End)
		assert.Equal(t, 200*ms, report.Duration)
		report = p.Do(t.Context(), func(ctx context.Context, a resilience.Attempt) resilience.Result {
			time.Sleep(80 * ms)
			return resilience.Result{Outcome: resilience.HTTP5xx, Err: fmt.Errorf("call %d", a.Number)}
		}, nil)
		assert.Equal(t, resilience.HTTP5xx, report.Outcome)
		assert.EqualError(t, report.Err, "call 2", "the last one")
		assert.Equal(t, 130*ms, report.Duration)
	})
}

func TestTimeoutAroundAHedgeEndsAllItsCallsAsTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report := policy(t, resilience.TimeoutGuard{Limit: 260 * ms}, hedged(100*ms, 1)).Do(t.Context(), takes(time.Second), nil)
		assert.Equal(t, resilience.Timeout, report.Outcome)
		assert.Equal(t, 2, report.Timeouts)
		assert.Equal(t, 260*ms, report.Duration)
	})
}

func TestLoserOfAHedgeIsNeutralToItsBreakerAndReturnsItsPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, hedged(100*ms, 1), breakerGuard(1, 1), full(2))
		for range 5 {
			require.Equal(t, resilience.Success, p.Do(t.Context(), takes(time.Second, 10*ms), nil).End)
		}
		assert.Equal(t, breaker.Closed, p.State().Breaker)
		assert.Equal(t, 2, p.State().Available)
	})
}

func TestPanicInAHedgedCallPassesOnToTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, hedged(50*ms, 1), full(2))
		for _, kind := range []resilience.AttemptKind{resilience.First, resilience.Hedge} {
			assert.PanicsWithValue(t, "boom", func() {
				p.Do(t.Context(), func(ctx context.Context, a resilience.Attempt) resilience.Result {
					if a.Kind == kind {
						time.Sleep(70 * ms)
						panic("boom")
					}
					return takes(time.Second)(ctx, a)
				}, nil)
			})
		}
		assert.Equal(t, 2, p.State().Available)
		assert.Zero(t, p.State().Inflight)
	})
}

func TestRetryAroundAHedgeNumbersItsAttemptsThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var numbers []string
		r := retry()
		r.Backoff.Initial = 0
		report := policy(t, r, hedged(50*ms, 1)).Do(t.Context(), func(ctx context.Context, a resilience.Attempt) resilience.Result {
			mu.Lock()
			numbers = append(numbers, fmt.Sprintf("%d %s", a.Number, a.Kind))
			mu.Unlock()
			time.Sleep(60 * ms)
			if a.Number <= 2 {
				return resilience.Result{Outcome: resilience.HTTP5xx}
			}
			return resilience.Result{}
		}, nil)
		assert.Equal(t, []string{"1 first", "2 hedge", "3 retry", "4 hedge"}, numbers)
		assert.Equal(t, 4, report.Attempts)
		assert.Equal(t, 4, report.Calls)
		assert.Equal(t, 2, report.Hedges)
	})
}

func TestHedgeAtAPercentileLearnsFromTheCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, resilience.HedgeGuard{Config: hedge.Config{Percentile: 90, Max: 1}})
		for i := range 100 {
			report := p.Do(t.Context(), takes(time.Duration(i%10+1)*10*ms), nil)
			if i < 32 {
				require.Equal(t, 1, report.Calls, "nothing is known yet")
			}
		}
		report := p.Do(t.Context(), takes(time.Second, 10*ms), nil)
		assert.Equal(t, 100*ms, report.Duration, "90 ms, and the answer of the hedge")
	})
}

// Once the requests made before a percentile was known did not count in the
// budget, which another guard shared.
func TestHedgeThatKnowsNoPercentileYetTellsItsBudgetOfRequests(t *testing.T) {
	c := budget.Config{Kind: budget.Window, Ratio: 1, TTL: time.Minute, Name: "both"}
	r := spends(c)
	p := policy(t, resilience.HedgeGuard{Config: hedge.Config{Percentile: 95, Max: 1}, Budget: r.Budget}, r)
	for range 20 {
		report := p.Do(t.Context(), answers(0, resilience.HTTP5xx, resilience.OK), nil)
		assert.Equal(t, resilience.Success, report.End)
		assert.False(t, report.BudgetExhausted)
	}
}

// Once refused connections taught a percentile that answers take no time.
func TestHedgeLearnsFromAnswersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, resilience.HedgeGuard{Config: hedge.Config{Percentile: 95, Max: 1}})
		for range 64 {
			p.Do(t.Context(), answers(0, resilience.Connect), nil)
		}
		for range 20 {
			assert.Equal(t, 1, p.Do(t.Context(), takes(50*ms), nil).Calls)
		}
	})
}

func TestFallbackMakesARequestDegraded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen log
		p := policy(t, resilience.FallbackGuard{On: resilience.DefaultFallbackOn(), Value: "queued"}, retry())
		report := p.Do(t.Context(), answers(0, resilience.HTTP5xx), &seen)
		assert.Equal(t, resilience.Degraded, report.End)
		assert.Equal(t, "queued", report.Value)
		assert.Equal(t, resilience.HTTP5xx, report.Outcome, "why it was needed is still told")
		assert.Equal(t, "fallback used 3 retry", seen.lines()[len(seen.lines())-1])
		report = p.Do(t.Context(), answers(0, resilience.HTTP4xx), nil)
		assert.Equal(t, resilience.Failed, report.End, "a 4xx is the request's own fault")
		report = p.Do(t.Context(), answers(0, resilience.OK), nil)
		assert.Equal(t, resilience.Success, report.End)
	})
}

func TestFallbackInsideARetryIsNotRetried(t *testing.T) {
	report := policy(t, retry(), resilience.FallbackGuard{On: resilience.DefaultFallbackOn(), Value: 1}).
		Do(t.Context(), answers(0, resilience.HTTP5xx), nil)
	assert.Equal(t, 1, report.Calls)
	assert.Equal(t, resilience.Degraded, report.End)
}

func TestFallbackFunction(t *testing.T) {
	p := policy(t, resilience.FallbackGuard{On: resilience.DefaultFallbackOn(), Function: true}, full(1)).Policy
	last := errors.New("the last cause")
	request := resilience.Request{
		Call: func(context.Context, resilience.Attempt) resilience.Result {
			return resilience.Result{Outcome: resilience.Reset, Err: last}
		},
		Fallback: func(_ context.Context, r resilience.Result) (any, error) {
			return "instead of " + r.Outcome.String(), nil
		},
	}
	report := p.Do(t.Context(), request)
	assert.Equal(t, resilience.Degraded, report.End)
	assert.Equal(t, "instead of reset", report.Value)

	broken := errors.New("no fallback either")
	request.Fallback = func(context.Context, resilience.Result) (any, error) { return nil, broken }
	report = p.Do(t.Context(), request)
	assert.Equal(t, resilience.Failed, report.End)
	assert.ErrorIs(t, report.Err, broken)
	assert.ErrorIs(t, report.Err, last)

	request.Fallback = func(context.Context, resilience.Result) (any, error) { panic("boom") }
	assert.PanicsWithValue(t, "boom", func() { p.Do(t.Context(), request) })
	assert.Equal(t, 1, p.State().Available)

	request.Fallback = nil
	assert.Equal(t, resilience.Failed, p.Do(t.Context(), request).End)
}

func TestFallbackCacheGivesTheLastGoodAnswerOfTheSameKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, resilience.FallbackGuard{On: resilience.DefaultFallbackOn(), CacheTTL: time.Minute}).Policy
		do := func(key string, r resilience.Result) resilience.Report {
			return p.Do(t.Context(), resilience.Request{Key: key, Call: func(context.Context, resilience.Attempt) resilience.Result { return r }})
		}
		fails := resilience.Result{Outcome: resilience.HTTP5xx}
		assert.Equal(t, resilience.Failed, do("a", fails).End, "nothing is cached yet")
		do("a", resilience.Result{Value: "good"})
		assert.Equal(t, "good", do("a", fails).Value)
		assert.Equal(t, resilience.Degraded, do("a", fails).End)
		assert.Equal(t, resilience.Failed, do("b", fails).End)
		time.Sleep(time.Minute + 1)
		assert.Equal(t, resilience.Failed, do("a", fails).End, "too old")
		for i := range 3000 {
			do(fmt.Sprint(i), resilience.Result{Value: i})
		}
		kept := 0
		for i := range 3000 {
			if do(fmt.Sprint(i), fails).End == resilience.Degraded {
				kept++
			}
		}
		assert.Equal(t, 1024, kept, "bounded")
	})
}

func TestFallbackFunctionInsideAHedgeIsRefused(t *testing.T) {
	_, err := resilience.New(resilience.Config{Name: "p", Guards: []resilience.Guard{
		hedged(ms, 1), resilience.FallbackGuard{On: resilience.DefaultFallbackOn(), Function: true},
	}})
	assert.ErrorContains(t, err, "guards[1].fallback.function: cannot be inside of a hedge")
}

// amplification is how many calls a request costs when every call fails, with
// 100 requests a second over this time.
func amplification(t *testing.T, p tested, over time.Duration) float64 {
	t.Helper()
	const rps = 100
	requests, calls := 0, 0
	for range int(over.Seconds() * rps) {
		requests++
		calls += p.Do(t.Context(), answers(0, resilience.HTTP5xx), nil).Calls
		time.Sleep(time.Second / rps)
	}
	return float64(calls) / float64(requests)
}

func TestBudgetsMeetTheirBoundWhenEverythingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for tenths := 1; tenths <= 10; tenths++ {
			ratio := float64(tenths) / 10
			c := budget.Config{Kind: budget.Window, Ratio: ratio, TTL: 10 * time.Second}
			assert.InDelta(t, 1+ratio, amplification(t, policy(t, spends(c)), time.Minute), 0.01, "window, ratio %v", ratio)
		}
		c := budget.Default(budget.Window) // 0.2, 10 a second, 10 s
		assert.InDelta(t, 1+0.2+10.0/100, amplification(t, policy(t, spends(c)), 5*time.Minute), 0.02)

		calls := 0
		guard := spends(budget.Default(budget.Tokens))
		guard.MaxAttempts = 10
		p := policy(t, guard)
		for range 100 {
			calls += p.Do(t.Context(), answers(0, resilience.HTTP5xx), nil).Calls
		}
		assert.Equal(t, 100+4, calls, "⌈10/2⌉ − 1 retries and then none")

		calls = 0
		p = policy(t, spends(budget.Default(budget.Quota)))
		for range 500 {
			calls += p.Do(t.Context(), answers(0, resilience.HTTP5xx), nil).Calls
		}
		assert.Equal(t, 500+500/5, calls)
		calls = 0
		p = policy(t, spends(budget.Default(budget.Quota)))
		for range 500 {
			calls += p.Do(t.Context(), answers(0, resilience.Timeout), nil).Calls
		}
		assert.Equal(t, 500+500/10, calls, "a timeout costs twice as much")
	})
}

func TestEmptyBudgetReturnsTheLastCauseAtOnceAndRefillsWithSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := spends(budget.Config{Kind: budget.Tokens, Max: 2, Ratio: 0.5})
		guard.Backoff.Initial = time.Second
		p := policy(t, guard)
		var seen log
		report := p.Do(t.Context(), answers(0, resilience.HTTP5xx), &seen)
		assert.Equal(t, resilience.HTTP5xx, report.Outcome)
		assert.Equal(t, resilience.Failed, report.End)
		assert.Zero(t, report.Duration)
		assert.True(t, report.BudgetExhausted)
		assert.Equal(t, []string{"attempt started 1 first", "attempt ended 1 first http_5xx 0s", "budget exhausted 1 first"}, seen.lines())
		assert.InDelta(t, 1, p.State().Budget, 1e-9)
		p.Do(t.Context(), answers(0, resilience.OK), nil)
		assert.InDelta(t, 1.5, p.State().Budget, 1e-9)
		for range 10 {
			p.Do(t.Context(), answers(0, resilience.OK), nil)
		}
		assert.InDelta(t, 2, p.State().Budget, 1e-9, "never more than its maximum")
		for range 10 {
			p.Do(t.Context(), answers(0, resilience.HTTP5xx), nil)
		}
		assert.Zero(t, p.State().Budget, "never below 0")
		p.Reset()
		assert.InDelta(t, 2, p.State().Budget, 1e-9)
	})
}

func TestQuotaGivesBackWhatTheLastRetryTook(t *testing.T) {
	p := policy(t, spends(budget.Default(budget.Quota)))
	assert.Equal(t, 3, p.Do(t.Context(), answers(0, resilience.HTTP5xx), nil).Calls)
	assert.InDelta(t, 490, p.State().Budget, 1e-9)
	p.Do(t.Context(), answers(0, resilience.HTTP5xx, resilience.OK), nil)
	assert.InDelta(t, 490, p.State().Budget, 1e-9, "took 5, gave 5 back")
	p.Do(t.Context(), answers(0, resilience.OK), nil)
	assert.InDelta(t, 491, p.State().Budget, 1e-9)
}

func TestConcurrencyBudgetBoundsTheRetriesThatRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy(t, spends(budget.Config{Kind: budget.Concurrency, Percent: 20, Min: 3}))
		var retries, most atomic.Int32
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				p.Do(t.Context(), func(_ context.Context, a resilience.Attempt) resilience.Result {
					if a.Kind == resilience.Retry {
						most.Store(max(most.Load(), retries.Add(1)))
						defer retries.Add(-1)
					}
					time.Sleep(100 * ms)
					return resilience.Result{Outcome: resilience.HTTP5xx}
				}, nil)
			})
		}
		wg.Wait()
		assert.EqualValues(t, 10, most.Load(), "20 % of the 50 requests that run")
		assert.InDelta(t, 3, p.State().Budget, 1e-9, "none runs any more")
	})
}

// Once a retry that was not made cost as much as one that was.
func TestRetryThatIsCancelledInItsWaitCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []budget.Kind{budget.Quota, budget.Window, budget.Concurrency} {
			guard := spends(budget.Default(kind))
			guard.Backoff.Initial = time.Second
			p := policy(t, guard)
			before := p.State().Budget
			for range 10 {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(100*ms, cancel)
				report := p.Do(ctx, answers(0, resilience.HTTP5xx), nil)
				assert.Equal(t, resilience.Cancelled, report.Outcome)
				assert.Equal(t, 1, report.Calls)
			}
			assert.GreaterOrEqual(t, p.State().Budget, before, kind)
		}
	})
}

func TestBudgetIsReturnedWhenTheCallPanics(t *testing.T) {
	p := policy(t, spends(budget.Config{Kind: budget.Concurrency, Percent: 0, Min: 1}))
	for range 3 {
		assert.Panics(t, func() {
			p.Do(t.Context(), func(_ context.Context, a resilience.Attempt) resilience.Result {
				if a.Number == 2 {
					panic("boom")
				}
				return resilience.Result{Outcome: resilience.HTTP5xx}
			}, nil)
		})
		assert.InDelta(t, 1, p.State().Budget, 1e-9)
	}
}

func TestPoliciesShareABudgetByItsName(t *testing.T) {
	registry := new(budget.Registry)
	make := func(c budget.Config) (tested, error) {
		c.Name = "all"
		p, err := resilience.New(resilience.Config{Name: "p", Guards: []resilience.Guard{spends(c)}}, resilience.WithBudgets(registry))
		return tested{p}, err
	}
	a, err := make(budget.Default(budget.Quota))
	require.NoError(t, err)
	b, err := make(budget.Default(budget.Quota))
	require.NoError(t, err)
	a.Do(t.Context(), answers(0, resilience.HTTP5xx), nil)
	assert.InDelta(t, 490, b.State().Budget, 1e-9)
	_, err = make(budget.Default(budget.Tokens))
	assert.EqualError(t, err, `guards[0].retry: budget "all" is in use with other settings`)
}

func TestRetryAndHedgeOfOnePolicyCountItsRequestsOnceInASharedBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := budget.Config{Kind: budget.Window, Ratio: 0.5, TTL: time.Minute, Name: "both"}
		r := spends(c)
		h := hedged(ms, 1)
		h.Budget = r.Budget
		p := policy(t, r, h)
		for range 4 {
			p.Do(t.Context(), takes(0), nil)
		}
		assert.InDelta(t, 2, p.State().Budget, 1e-9, "four requests at 0.5")
	})
}

func TestHedgeAsksItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hedged(10*ms, 1)
		h.Budget = &budget.Config{Kind: budget.Window, Ratio: 0.25, TTL: time.Minute}
		p := policy(t, h)
		var got []int
		exhausted := 0
		for range 8 {
			report := p.Do(t.Context(), takes(100*ms), nil)
			got = append(got, report.Hedges)
			if report.BudgetExhausted {
				exhausted++
			}
		}
		assert.Equal(t, []int{0, 0, 0, 1, 0, 0, 0, 1}, got)
		assert.Equal(t, 6, exhausted)
	})
}

// Once a hedge's budget never heard of failures, and so bounded nothing.
func TestTokensBoundHedgesToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hedged(10*ms, 1)
		h.Budget = &budget.Config{Kind: budget.Tokens, Max: 10, Ratio: 0.1}
		p := policy(t, h)
		hedges := 0
		for range 100 {
			hedges += p.Do(t.Context(), func(context.Context, resilience.Attempt) resilience.Result {
				time.Sleep(100 * ms)
				return resilience.Result{Outcome: resilience.HTTP5xx}
			}, nil).Hedges
		}
		assert.LessOrEqual(t, hedges, 4)
		assert.Positive(t, hedges)
		assert.Zero(t, p.State().Budget)
	})
}

// Once the inner of two retries that share a budget told it of no failure.
func TestTokensBoundRetriesInARetry(t *testing.T) {
	guard := spends(budget.Config{Kind: budget.Tokens, Max: 10, Ratio: 0.1, Name: "both"})
	p := policy(t, guard, guard)
	retries := 0
	for range 100 {
		retries += p.Do(t.Context(), answers(0, resilience.HTTP5xx), nil).Attempts - 1
	}
	assert.LessOrEqual(t, retries, 4)
	assert.Positive(t, retries)
}

// What opens a breaker is told once, however many calls in flight fail after
// it, and none of those is recorded.
func TestCallsInFlightAfterTheBreakerOpenedAreNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen log
		p := policy(t, breakerGuard(3, 1))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { p.Do(t.Context(), answers(100*ms, resilience.HTTP5xx), &seen) })
		}
		wg.Wait()
		changes := 0
		for _, line := range seen.lines() {
			if line == "breaker changed 1 first closed→open" {
				changes++
			}
		}
		assert.Equal(t, 1, changes)
		assert.Zero(t, p.State().Window.Failures, "an open breaker starts anew")
	})
}

func TestForcedBreaker(t *testing.T) {
	var seen log
	p := policy(t, breakerGuard(1, 1))
	p.ForceBreaker(breaker.Open, &seen)
	assert.Equal(t, resilience.BreakerOpen, p.Do(t.Context(), answers(0, resilience.OK), nil).Outcome)
	assert.Equal(t, breaker.ForcedOpen, p.State().Breaker)
	p.ForceBreaker(breaker.Disabled, &seen)
	for range 5 {
		p.Do(t.Context(), answers(0, resilience.HTTP5xx), &seen)
	}
	assert.Equal(t, breaker.Disabled, p.State().Breaker)
	p.Reset()
	assert.Equal(t, breaker.Closed, p.State().Breaker)
	assert.Equal(t, "breaker changed 0 first closed→forced-open", seen.lines()[0])
}

func TestFiftyCallersRaceForTheProbesOfAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const probes = 4
		p := policy(t, breakerGuard(1, probes))
		p.Do(t.Context(), answers(0, resilience.HTTP5xx), nil)
		time.Sleep(time.Second)
		var through, refused atomic.Int32
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				report := p.Do(t.Context(), answers(100*ms, resilience.OK), nil)
				through.Add(int32(report.Calls))
				if report.Outcome == resilience.BreakerOpen {
					refused.Add(1)
				}
			})
		}
		wg.Wait()
		assert.EqualValues(t, probes, through.Load())
		assert.EqualValues(t, 50-probes, refused.Load())
		assert.Equal(t, breaker.Closed, p.State().Breaker)
	})
}

func TestWaitsOfALongRetryStayWithinTheirRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := retry()
		guard.MaxAttempts = 200
		guard.Backoff.Multiplier = 1000
		guard.Backoff.Max = math.MaxInt64 / 1000
		var waits []time.Duration
		observer := observe(func(e resilience.Event) {
			if e.Kind == resilience.Waiting {
				waits = append(waits, e.Duration)
			}
		})
		policy(t, guard).Do(t.Context(), answers(0, resilience.HTTP5xx), observer)
		require.Len(t, waits, 199)
		for k, d := range waits {
			require.True(t, d >= 0 && d <= guard.Backoff.Max, "wait %d is %v", k+1, d)
		}
	})
}

type observe func(resilience.Event)

func (o observe) Observe(e resilience.Event) { o(e) }
