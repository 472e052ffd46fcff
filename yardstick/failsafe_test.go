package yardstick

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sameFailsafeState = map[breaker.State]circuitbreaker.State{
	breaker.Closed: circuitbreaker.ClosedState, breaker.HalfOpen: circuitbreaker.HalfOpenState, breaker.Open: circuitbreaker.OpenState,
}

// Calls come one after the other: with several at once the two differ, see
// the known differences.
func TestBreakerAsFailsafe(t *testing.T) {
	random := seeded(t)
	opened, closed, refused := 0, 0, 0
	for range sequences {
		of := 1 + random.IntN(12)
		failures, probes := 1+random.IntN(of), 1+random.IntN(4)
		inARow := random.IntN(3) == 0 // failures of as many
		synctest.Test(t, func(t *testing.T) {
			c := consecutiveBreaker(failures, probes)
			theirs := failsafeBreaker(uint(failures), uint(failures), uint(probes))
			if !inARow {
				c.Window, c.MinCalls, c.FailureRate = breaker.Window{Calls: of}, of, float64(failures)/float64(of)
				theirs = failsafeBreaker(uint(failures), uint(of), uint(probes))
			}
			ours := newBreaker(t, c)
			for step := range 600 {
				if random.IntN(8) == 0 {
					time.Sleep(time.Duration(random.IntN(10)) * 100 * time.Millisecond)
				}
				permit, _, ok := ours.Acquire(time.Now())
				require.Equal(t, theirs.TryAcquirePermit(), ok, "permit; state %v", ours.State())
				if !ok {
					refused++
					continue
				}
				window := ours.Counts(time.Now())
				fails := random.Float64() < 0.7
				if step/40%2 == 1 {
					fails = random.Float64() < 0.1
				}
				// Before its window is full, theirs opens and ours does not:
				// see the known differences.
				if !inARow && ours.State() == breaker.Closed && window.Total < of && window.Failures+1 >= failures {
					fails = false
				}
				verdict := breaker.Success
				if fails {
					verdict = breaker.Failure
					theirs.RecordFailure()
				} else {
					theirs.RecordSuccess()
				}
				_, change := ours.Done(permit, breaker.Result{Verdict: verdict}, time.Now())
				require.Equal(t, sameFailsafeState[ours.State()], theirs.State(), "%d of %d", failures, of)
				if ours.State() == breaker.Closed && !inARow {
					require.Equal(t, int(theirs.Metrics().Failures()), ours.Counts(time.Now()).Failures, "failures in the window")
					require.Equal(t, int(theirs.Metrics().Executions()), ours.Counts(time.Now()).Total, "results in the window")
				}
				if change.Happened() && change.To == breaker.Open {
					opened++
				}
				if change.Happened() && change.To == breaker.Closed {
					closed++
				}
			}
		})
	}
	t.Logf("opened %d times, closed %d, refused %d", opened, closed, refused)
	assert.Greater(t, opened, sequences)
	assert.Greater(t, closed, sequences)
	assert.Greater(t, refused, sequences)
}

// visit is one caller of a bulkhead, and what became of him.
type visit struct {
	arrives, stays time.Duration
	let            bool
	started        time.Duration
}

// Callers that come at random times and wait for a while: the same ones get a
// permit, at the same time.
func TestBulkheadAsFailsafe(t *testing.T) {
	random := seeded(t)
	waited, refused := 0, 0
	for range sequences {
		permits := 1 + random.IntN(4)
		var maxWait time.Duration
		if random.IntN(4) > 0 {
			// Half a millisecond apart from everything else that happens, and
			// the callers a microsecond from each other: no two things
			// happen at the same instant, whose order nobody promises.
			maxWait = time.Duration(random.IntN(6))*10*time.Millisecond + 500*time.Microsecond
		}
		visits := make([]visit, 80)
		for i := range visits {
			visits[i].arrives = time.Duration(random.IntN(60))*10*time.Millisecond + time.Duration(i)*time.Microsecond
			visits[i].stays = time.Duration(1+random.IntN(6)) * 10 * time.Millisecond
		}
		p := newPolicy(t, resilience.BulkheadGuard{Config: bulkhead.Config{MaxConcurrent: permits, MaxWait: maxWait}})
		ours := attend(t, visits, func() func(call func()) {
			return func(call func()) {
				p.Do(context.Background(), resilience.Request{Call: func(context.Context, resilience.Attempt) resilience.Result {
					call()
					return resilience.Result{}
				}})
			}
		})
		theirs := attend(t, visits, func() func(call func()) {
			executor := failsafe.With[any](failsafebulkhead.NewBuilder[any](uint(permits)).WithMaxWaitTime(maxWait).Build())
			return func(call func()) { _ = executor.Run(func() error { call(); return nil }) }
		})
		require.Equal(t, theirs, ours, "%d permits, wait %v", permits, maxWait)
		for _, v := range ours {
			if !v.let {
				refused++
			} else if v.started > v.arrives {
				waited++
			}
		}
		assert.Equal(t, permits, p.State().Available)
	}
	t.Logf("%d waited, %d were refused", waited, refused)
	assert.Greater(t, waited, sequences)
	assert.Greater(t, refused, sequences)
}

// attend lets the visitors come, and tells what became of them. What they
// come to is made in their bubble.
func attend(t *testing.T, visits []visit, open func() func(call func())) []visit {
	came := append([]visit(nil), visits...)
	synctest.Test(t, func(*testing.T) {
		do := open()
		begin := time.Now()
		var wg sync.WaitGroup
		for i := range came {
			v := &came[i]
			wg.Go(func() {
				time.Sleep(v.arrives)
				do(func() {
					v.let, v.started = true, time.Since(begin)
					time.Sleep(v.stays)
				})
			})
		}
		wg.Wait()
	})
	return came
}

// plan is one request: how long the user thinks before it, and which of its
// attempts fail.
type plan struct {
	thinks time.Duration
	fails  [6]bool
}

// story is what became of a request.
type story struct {
	Calls int
	End   resilience.End
	Ended time.Duration // since the first request's think time began
}

func plans(random *rand.Rand) []plan {
	all := make([]plan, 80)
	for i := range all {
		failures := 0.8
		if i/15%2 == 1 {
			failures = 0.1
		}
		all[i].thinks = time.Duration(random.IntN(4)) * 100 * time.Millisecond
		for k := range all[i].fails {
			all[i].fails[k] = random.Float64() < failures
		}
	}
	return all
}

// tell makes the requests one after the other.
func tell(t *testing.T, all []plan, do func(call func() error) resilience.End) []story {
	var stories []story
	synctest.Test(t, func(*testing.T) {
		begin := time.Now()
		for _, p := range all {
			time.Sleep(p.thinks)
			calls := 0
			end := do(func() error {
				calls++
				time.Sleep(10 * time.Millisecond)
				if p.fails[calls-1] {
					return errCall
				}
				return nil
			})
			stories = append(stories, story{calls, end, time.Since(begin)})
		}
	})
	return stories
}

func ourEnd(p *resilience.Policy) func(call func() error) resilience.End {
	return func(call func() error) resilience.End {
		return p.Do(context.Background(), resilience.Request{Call: func(context.Context, resilience.Attempt) resilience.Result {
			if call() != nil {
				return failed
			}
			return resilience.Result{}
		}}).End
	}
}

func theirEnd(policies ...failsafe.Policy[any]) func(call func() error) resilience.End {
	executor := failsafe.With(policies...)
	return func(call func() error) resilience.End {
		switch err := executor.Run(call); {
		case err == nil:
			return resilience.Success
		case errors.Is(err, circuitbreaker.ErrOpen):
			return resilience.RejectedByGuard
		}
		return resilience.Failed
	}
}

// The same guards in both orders, over the same outcomes: the same requests
// make the same calls and end in the same way at the same time. Retries alone
// are among them.
func TestRetryAndBreakerInBothOrdersAsFailsafe(t *testing.T) {
	random := seeded(t)
	orders := map[string]func(r, b resilience.Guard, fr, fb failsafe.Policy[any]) ([]resilience.Guard, []failsafe.Policy[any]){
		"retry": func(r, _ resilience.Guard, fr, _ failsafe.Policy[any]) ([]resilience.Guard, []failsafe.Policy[any]) {
			return []resilience.Guard{r}, []failsafe.Policy[any]{fr}
		},
		"breaker(retry)": func(r, b resilience.Guard, fr, fb failsafe.Policy[any]) ([]resilience.Guard, []failsafe.Policy[any]) {
			return []resilience.Guard{b, r}, []failsafe.Policy[any]{fb, fr}
		},
		"retry(breaker)": func(r, b resilience.Guard, fr, fb failsafe.Policy[any]) ([]resilience.Guard, []failsafe.Policy[any]) {
			return []resilience.Guard{r, b}, []failsafe.Policy[any]{fr, fb}
		},
	}
	ends := make(map[string]map[resilience.End]int)
	different := 0 // between the two orders
	for range sequences {
		all := plans(random)
		attempts, failures, probes := 1+random.IntN(5), 1+random.IntN(4), 1+random.IntN(2)
		wait := time.Duration(random.IntN(3)) * 75 * time.Millisecond
		told := make(map[string][]story)
		for name, order := range orders {
			retries := retrypolicy.NewBuilder[any]().WithMaxAttempts(attempts).ReturnLastFailure().AbortOnErrors(circuitbreaker.ErrOpen)
			if wait > 0 {
				retries.WithBackoff(wait, time.Second)
			}
			guards, policies := order(
				retryGuard(attempts, backoff.Schedule{Initial: wait, Multiplier: 2, Max: time.Second}),
				breakerGuard(consecutiveBreaker(failures, probes)),
				retries.Build(),
				failsafeBreaker(uint(failures), uint(failures), uint(probes)),
			)
			told[name] = tell(t, all, ourEnd(newPolicy(t, guards...)))
			require.Equal(t, tell(t, all, theirEnd(policies...)), told[name],
				"%s: %d attempts %v apart, breaker of %d with %d probes", name, attempts, wait, failures, probes)
			for _, s := range told[name] {
				if ends[name] == nil {
					ends[name] = make(map[resilience.End]int)
				}
				ends[name][s.End]++
			}
		}
		if !assert.ObjectsAreEqual(told["breaker(retry)"], told["retry(breaker)"]) {
			different++
		}
	}
	t.Logf("ends: %v; the order made a difference in %d of %d sequences", ends, different, sequences)
	assert.Greater(t, different, sequences/2, "the sequences tell the two orders apart")
	for name := range orders {
		assert.Greater(t, ends[name][resilience.Success], sequences, name)
		assert.Greater(t, ends[name][resilience.Failed], sequences, name)
		if name != "retry" {
			assert.Greater(t, ends[name][resilience.RejectedByGuard], sequences, name)
		}
	}
}

// Without jitter the three schedules are one. The others cut off a fraction of
// a nanosecond with each step, which later steps multiply.
func TestDelaysAsFailsafeAndCenkalti(t *testing.T) {
	random := seeded(t)
	for range sequences {
		initial := time.Duration(1+random.IntN(500)) * time.Millisecond
		multiplier := []float64{1, 1.5, 2, 3}[random.IntN(4)]
		limit := initial * time.Duration(1+random.IntN(200))
		s := backoff.Schedule{Initial: initial, Multiplier: multiplier, Max: limit}
		theirs := &exponential.ExponentialBackOff{InitialInterval: initial, Multiplier: multiplier, MaxInterval: limit}
		theirs.Reset()
		failsafes := failsafeDelays(t, 12, retrypolicy.NewBuilder[any]().WithBackoffFactor(initial, limit, multiplier))
		for k := 1; k <= 12; k++ {
			ours := s.Delay(k, 0, random.Float64())
			assert.InEpsilon(t, theirs.NextBackOff(), ours, 2e-6, "cenkalti: %+v, retry %d", s, k)
			assert.InEpsilon(t, failsafes[k-1], ours, 2e-6, "failsafe: %+v, retry %d", s, k)
		}
	}
}

// failsafeDelays lets a call fail n times and a last one, and tells the waits
// between.
func failsafeDelays(t *testing.T, n int, b retrypolicy.Builder[any]) (delays []time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		b.WithMaxRetries(n).OnRetryScheduled(func(e failsafe.ExecutionScheduledEvent[any]) { delays = append(delays, e.Delay) })
		assert.Error(t, failsafe.With[any](b.Build()).Run(func() error { return errCall }))
	})
	require.Len(t, delays, n)
	return delays
}
