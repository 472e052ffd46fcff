package resilience

import (
	"context"
	"errors"
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
	faults := []error{g.Config.Validate()}
	if g.Counts == 0 {
		faults = append(faults, errors.New("counts: no outcome is a failure, so the breaker would never open"))
	}
	for _, o := range []Outcome{OK, Cancelled} {
		if g.Counts.Has(o) {
			faults = append(faults, errors.New("counts: "+o.String()+" cannot be a failure"))
		}
	}
	return flatten(faults)
}

// flatten joins errors of which some are joined already.
func flatten(errs []error) error {
	var faults []error
	for _, err := range errs {
		if err != nil {
			faults = append(faults, unjoin(err)...)
		}
	}
	return errors.Join(faults...)
}

func (g BreakerGuard) layer(*Policy) layer {
	b, err := breaker.New(g.Config)
	if err != nil {
		panic(err) // New has validated every guard
	}
	return &breakerLayer{breaker: b, counts: g.Counts}
}

type breakerLayer struct {
	breaker *breaker.Breaker
	counts  Outcomes
	changes changeQueue
}

func (l *breakerLayer) run(ctx context.Context, r *request, rest []layer) (result Result) {
	begin := r.now
	permit, change, ok := l.breaker.Acquire(begin)
	l.told(r, change)
	if !ok {
		return r.reject(errBreakerOpen)
	}
	returned := false
	defer func() {
		outcome := result.Outcome
		if !returned { // a panic passes on, the permit does not stay behind
			outcome = Thrown
		}
		_, change := l.breaker.Done(permit, breaker.Result{
			Verdict:  l.verdict(outcome),
			Duration: r.now.Sub(begin),
		}, r.now)
		l.told(r, change)
	}()
	result = r.next(ctx, rest)
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
func (l *breakerLayer) told(r *request, change breaker.Change) {
	if change.Happened() {
		l.tell(change, r.observer, r.event(BreakerChanged))
	}
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
