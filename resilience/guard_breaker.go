package resilience

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrylab/retrylab/resilience/breaker"
)

// Defaults of a BreakerGuard.
const (
	DefaultFailureRate   = 0.5
	DefaultWindowCalls   = 100
	DefaultOpenFor       = 5 * time.Second
	DefaultHalfOpenCalls = 1
)

// DefaultCounts is what a breaker counts as a failure unless a policy says
// otherwise. What is neither OK nor counted is neutral: a 4xx is the caller's
// own fault, and a cancelled call says nothing of the callee.
func DefaultCounts() Outcomes { return SetOf(Timeout, Connect, Reset, HTTP5xx) }

// BreakerGuard stops calling a callee that fails. Inside of a retry it counts
// attempts, outside of it requests.
type BreakerGuard struct {
	breaker.Config
	Counts Outcomes // which outcomes are failures
}

// Kind is "breaker".
func (BreakerGuard) Kind() string { return "breaker" }

// Validate names everything that is wrong with g.
func (g BreakerGuard) Validate() error {
	return flatten(g.Config.Validate(), validateCounts(g.Counts))
}

func validateCounts(counts Outcomes) error {
	var faults []error
	if counts == 0 {
		faults = append(faults, errors.New("counts: no outcome is a failure, so the breaker would never open"))
	}
	for _, o := range []Outcome{OK, Cancelled} {
		if counts.Has(o) {
			faults = append(faults, fmt.Errorf("counts: %s cannot be a failure", o))
		}
	}
	return errors.Join(faults...)
}

func (g BreakerGuard) layer(*maker) (layer, error) {
	b, err := breaker.New(g.Config)
	return &breakerLayer{breaker: b, counts: g.Counts}, err
}

type breakerLayer struct {
	breaker *breaker.Breaker
	counts  Outcomes
	changes changeQueue
}

func (l *breakerLayer) run(ctx context.Context, b *branch, rest []layer) (result Result) {
	begin := b.now
	permit, change, ok := l.breaker.Acquire(begin)
	if change.Happened() {
		l.told(b, change)
	}
	if !ok {
		return b.reject(errBreakerOpen)
	}
	returned := false
	defer func() {
		outcome := result.Outcome
		if !returned { // a panic passes on, the permit does not stay behind
			outcome = Thrown
		}
		_, change := l.breaker.Done(permit, breaker.Result{
			Verdict:  l.verdict(outcome),
			Duration: b.now.Sub(begin),
		}, b.now)
		if change.Happened() {
			l.told(b, change)
		}
	}()
	result = b.next(ctx, rest)
	returned = true
	return result
}

func (l *breakerLayer) verdict(o Outcome) breaker.Verdict {
	switch {
	case o == OK:
		return breaker.Success
	case l.counts.Has(o):
		return breaker.Failure
	}
	return breaker.Neutral
}

// told passes a change on to the observer of the request that caused it.
func (l *breakerLayer) told(b *branch, change breaker.Change) {
	l.tell(change, b.job.Observer, b.event(BreakerChanged))
}

func (l *breakerLayer) tell(change breaker.Change, o Observer, e Event) {
	e.From, e.To, e.At = change.From, change.To, change.At
	l.changes.tell(change.Seq, o, e)
}

// force puts the breaker into a state, and keeps the order of its changes.
func (l *breakerLayer) force(s breaker.State, now time.Time, o Observer, e Event) {
	if change := l.breaker.Force(s, now); change.Happened() {
		l.tell(change, o, e)
	}
}

func (l *breakerLayer) reset(now time.Time) { l.force(breaker.Closed, now, nil, Event{}) }

func (l *breakerLayer) describe(s *State, now time.Time) {
	if !s.HasBreaker {
		s.HasBreaker, s.Breaker, s.Window = true, l.breaker.State(), l.breaker.Counts(now)
	}
}
