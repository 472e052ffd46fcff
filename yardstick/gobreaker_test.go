package yardstick

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/sony/gobreaker/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errNeutral = errors.New("says nothing of the callee")

// pair is a permit of ours and the one of gobreaker that was given with it.
type pair struct {
	ours   breaker.Permit
	theirs func(error)
}

// twins drives our breaker and gobreaker through the same sequence.
type twins struct {
	t       *testing.T
	random  *rand.Rand
	config  breaker.Config
	ours    *breaker.Breaker
	theirs  *gobreaker.TwoStepCircuitBreaker[any]
	state   gobreaker.State // theirs as last told: asking for it changes it
	changed bool            // it was told since

	out                             []pair
	refused, opened, closed, halves int
	stale, neutral                  int
}

func newTwins(t *testing.T, random *rand.Rand, c breaker.Config, s gobreaker.Settings) *twins {
	w := &twins{t: t, random: random, config: c, ours: newBreaker(t, c)}
	s.IsExcluded = func(err error) bool { return errors.Is(err, errNeutral) }
	s.OnStateChange = func(_ string, _, to gobreaker.State) { w.state, w.changed = to, true }
	w.theirs = gobreaker.NewTwoStepCircuitBreaker[any](s)
	return w
}

var sameState = map[breaker.State]gobreaker.State{
	breaker.Closed: gobreaker.StateClosed, breaker.HalfOpen: gobreaker.StateHalfOpen, breaker.Open: gobreaker.StateOpen,
}

func (w *twins) acquire() {
	permit, change, ok := w.ours.Acquire(time.Now())
	done, err := w.theirs.Allow()
	require.Equal(w.t, err == nil, ok, "permit given by ours and theirs; state %v, %d calls out", w.ours.State(), len(w.out))
	if change.Happened() {
		w.halves++
	}
	if ok {
		w.out = append(w.out, pair{permit, done})
	} else {
		w.refused++
	}
	require.Equal(w.t, sameState[w.ours.State()], w.state)
	w.sameCounts()
}

// done ends one of the calls that are out, whichever.
func (w *twins) done(verdict breaker.Verdict) {
	if len(w.out) == 0 {
		return
	}
	i := w.random.IntN(len(w.out))
	p := w.out[i]
	w.out = append(w.out[:i], w.out[i+1:]...)

	before := w.theirs.Counts()
	w.changed = false
	counted, change := w.ours.Done(p.ours, breaker.Result{Verdict: verdict}, time.Now())
	p.theirs(map[breaker.Verdict]error{breaker.Failure: errCall, breaker.Neutral: errNeutral}[verdict])
	after := w.theirs.Counts()

	// Time alone may have made theirs half-open: see the known differences.
	early := w.changed && w.state == gobreaker.StateHalfOpen
	theirsCounted := !early && (w.changed ||
		after.TotalSuccesses+after.TotalFailures != before.TotalSuccesses+before.TotalFailures)
	require.Equal(w.t, theirsCounted, counted, "result counted by ours and theirs; state %v", w.ours.State())
	if !early && w.state != gobreaker.StateHalfOpen {
		require.Equal(w.t, sameState[w.ours.State()], w.state)
	}
	switch {
	case change.To == breaker.Open && change.Happened():
		w.opened++
	case change.Happened():
		w.closed++
	case verdict == breaker.Neutral:
		w.neutral++
	case !counted:
		w.stale++
	}
	w.sameCounts()
}

// sameCounts compares the windows of two closed breakers.
func (w *twins) sameCounts() {
	if w.ours.State() != breaker.Closed {
		return
	}
	ours, theirs := w.ours.Counts(time.Now()), w.theirs.Counts()
	if w.config.Window.Consecutive == 0 { // where ours holds nothing but what failed in a row
		require.Equal(w.t, int(theirs.TotalSuccesses+theirs.TotalFailures), ours.Total, "results in the window")
		require.Equal(w.t, int(theirs.TotalFailures), ours.Failures, "failures in the window")
	}
	require.Equal(w.t, int(theirs.ConsecutiveFailures), ours.Consecutive, "failures in a row")
}

// run drives a random sequence. Fewer calls fail after a while, so that the
// breakers close again too.
func (w *twins) run(steps int) {
	for step := range steps {
		failures := 0.8
		if step/40%2 == 1 {
			failures = 0.1
		}
		switch x := w.random.Float64(); {
		case x < 0.4:
			w.acquire()
		case x < 0.85:
			w.done(w.verdict(failures))
		default:
			// Never a whole second in sum: at that very instant they differ.
			time.Sleep(time.Duration(1+w.random.IntN(100)) * 7 * time.Millisecond)
		}
	}
}

func (w *twins) verdict(failures float64) breaker.Verdict {
	if w.random.IntN(8) == 0 {
		return breaker.Neutral
	}
	// Theirs looks at its window after a failure alone, ours after any result:
	// see the known differences. They agree where the result that makes the
	// window long enough is a failure.
	if w.ours.Counts(time.Now()).Total == w.config.MinCalls-1 || w.random.Float64() < failures {
		return breaker.Failure
	}
	return breaker.Success
}

func (w *twins) add(o *twins) {
	w.refused += o.refused
	w.opened += o.opened
	w.closed += o.closed
	w.halves += o.halves
	w.stale += o.stale
	w.neutral += o.neutral
}

// sawEverything says that the sequences went where the two could differ.
func (w *twins) sawEverything(t *testing.T) {
	t.Logf("opened %d times, half-open %d, closed %d; %d refused, %d stale, %d neutral",
		w.opened, w.halves, w.closed, w.refused, w.stale, w.neutral)
	for name, n := range map[string]int{
		"opened": w.opened, "half-open": w.halves, "closed": w.closed,
		"refused": w.refused, "stale": w.stale, "neutral": w.neutral,
	} {
		assert.Greater(t, n, sequences/4, name)
	}
}

func TestConsecutiveTripAsGobreaker(t *testing.T) {
	random := seeded(t)
	var all twins
	for range sequences {
		failures, probes := 1+random.IntN(5), 1+random.IntN(4)
		synctest.Test(t, func(t *testing.T) {
			w := newTwins(t, random, consecutiveBreaker(failures, probes), consecutiveSettings(uint32(failures), uint32(probes)))
			w.run(600)
			all.add(w)
		})
	}
	all.sawEverything(t)
}

// Theirs counts since it closed last, so that ours gets a window that never
// forgets within the sequence.
func TestRatioTripAsGobreaker(t *testing.T) {
	random := seeded(t)
	var all twins
	for range sequences {
		minCalls, probes := 1+random.IntN(10), 1+random.IntN(4)
		rate := float64(1+random.IntN(100)) / 100
		synctest.Test(t, func(t *testing.T) {
			c := consecutiveBreaker(0, probes)
			c.Window, c.MinCalls, c.FailureRate = breaker.Window{Calls: 1000}, minCalls, rate
			s := consecutiveSettings(0, uint32(probes))
			s.ReadyToTrip = func(c gobreaker.Counts) bool {
				n := c.TotalSuccesses + c.TotalFailures
				return n >= uint32(minCalls) && float64(c.TotalFailures)/float64(n) >= rate
			}
			w := newTwins(t, random, c, s)
			w.run(600)
			all.add(w)
		})
	}
	all.sawEverything(t)
}
