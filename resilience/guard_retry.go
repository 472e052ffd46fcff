package resilience

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/retrylab/retrylab/resilience/budget"
)

// Defaults of a RetryGuard.
const (
	DefaultMaxAttempts   = 3
	DefaultMultiplier    = 2
	DefaultMaxWait       = 30 * time.Second
	DefaultMaxRetryAfter = 30 * time.Second
)

// MaxAttempts is the greatest number of attempts a retry may make.
const MaxAttempts = 1000

// DefaultRetryOn is what is retried unless a policy says otherwise: failures
// that may be gone the next time.
func DefaultRetryOn() Outcomes { return SetOf(Timeout, Connect, Reset, HTTP5xx, HTTP429, Thrown) }

// RetryGuard repeats a failed attempt.
type RetryGuard struct {
	MaxAttempts int // in all, the first included; at least 1
	Backoff     backoff.Schedule
	RetryOn     Outcomes

	// IgnoreRetryAfter leaves the callee's Retry-After unheard. Otherwise it
	// is a floor of the wait, and one above MaxRetryAfter ends the request.
	IgnoreRetryAfter bool
	MaxRetryAfter    time.Duration

	// Budget bounds the retries of all requests together. Nil: nothing does.
	Budget *budget.Config
}

// Kind is "retry".
func (RetryGuard) Kind() string { return "retry" }

// Validate names everything that is wrong with g.
func (g RetryGuard) Validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if g.MaxAttempts < 1 || g.MaxAttempts > MaxAttempts {
		add("maxAttempts: %d is not in 1 … %d", g.MaxAttempts, MaxAttempts)
	}
	b := g.Backoff
	if b.Initial < 0 {
		add("backoff.initial: %v is negative", b.Initial)
	}
	if !(b.Multiplier >= 1 && b.Multiplier <= 1000) {
		add("backoff.multiplier: %v is not in 1 … 1000", b.Multiplier)
	}
	if b.Max <= 0 {
		add("backoff.max: %v is not above 0", b.Max)
	} else if b.Initial > b.Max {
		add("backoff.initial: %v is longer than backoff.max %v", b.Initial, b.Max)
	}
	switch {
	case b.Jitter == backoff.Factor && !(b.Fraction >= 0 && b.Fraction <= 1):
		add("jitter.factor: %v is not in 0 … 1", b.Fraction)
	case b.Jitter == backoff.Add && !(b.Fraction >= 0 && b.Fraction <= 1000):
		add("jitter.add: %v is not in 0 … 1000", b.Fraction)
	}
	if g.RetryOn.Has(OK) {
		add("retryOn: a success is not retried")
	}
	if g.RetryOn.Has(Cancelled) {
		add("retryOn: what the caller cancelled is not retried")
	}
	if g.MaxRetryAfter < 0 {
		add("retryAfter.max: %v is negative", g.MaxRetryAfter)
	}
	return flatten(errors.Join(faults...), validateBudget(g.Budget))
}

func (g RetryGuard) layer(m *maker) (layer, error) {
	allowance, err := m.allowance(g.Budget)
	return &retryLayer{RetryGuard: g, budget: allowance}, err
}

type retryLayer struct {
	RetryGuard
	budget *allowance
}

func (l *retryLayer) run(ctx context.Context, b *branch, rest []layer) Result {
	if l.budget == nil {
		return l.attempts(ctx, b, rest, nil)
	}
	spent := l.budget.begin(b.now)
	defer spent.end() // also where the call panics
	result := l.attempts(ctx, b, rest, &spent)
	spent.success = result.Outcome == OK
	return result
}

// attempts makes the attempts. Spent is nil where there is no budget.
func (l *retryLayer) attempts(ctx context.Context, b *branch, rest []layer, spent *spending) Result {
	var wait time.Duration
	for k := 1; ; k++ {
		result := b.next(ctx, rest)
		spent.done()
		if result.Degraded || !l.RetryOn.Has(result.Outcome) {
			return result
		}
		spent.failed()
		if k >= l.MaxAttempts || ctx.Err() != nil {
			return result
		}
		wait = l.Backoff.Delay(k, wait, b.policy.random())
		floored := wait
		if result.RetryAfter > 0 && !l.IgnoreRetryAfter {
			if result.RetryAfter > l.MaxRetryAfter {
				return result
			}
			floored = max(floored, result.RetryAfter)
		}
		if deadline, ok := ctx.Deadline(); ok && deadline.Sub(b.now) <= floored {
			return result // the next attempt could not even start
		}
		if !spent.spend(b, result) {
			return result
		}
		if floored > 0 && b.job.Observer != nil {
			e := b.event(Waiting)
			e.Outcome, e.Err, e.Duration = result.Outcome, result.Err, floored
			b.tell(e)
		}
		if !b.pause(ctx, floored) {
			spent.refund(b.now)
			ended := interrupted(ctx)
			ended.Value = result.Value
			ended.Err = &InterruptedError{Reason: ended.Err, Last: result.Err}
			return ended
		}
		b.again(Retry)
	}
}

func (l *retryLayer) describe(s *State, now time.Time) { l.budget.describe(s, now) }

func (l *retryLayer) reset(time.Time) { l.budget.reset() }
