package resilience

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrylab/retrylab/resilience/backoff"
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
	return errors.Join(faults...)
}

func (g RetryGuard) layer(*Policy) layer { return &retryLayer{g} }

type retryLayer struct{ RetryGuard }

func (l *retryLayer) run(ctx context.Context, r *request, rest []layer) Result {
	var wait time.Duration
	for k := 1; ; k++ {
		result := r.next(ctx, rest)
		if k >= l.MaxAttempts || !l.RetryOn.Has(result.Outcome) || ctx.Err() != nil {
			return result
		}
		wait = l.Backoff.Delay(k, wait, r.policy.random())
		floored := wait
		if result.RetryAfter > 0 && !l.IgnoreRetryAfter {
			if result.RetryAfter > l.MaxRetryAfter {
				return result
			}
			floored = max(floored, result.RetryAfter)
		}
		if deadline, ok := ctx.Deadline(); ok && deadline.Sub(r.now) <= floored {
			return result // the next attempt could not even start
		}
		if ended := r.wait(ctx, floored, result); ended != nil {
			return *ended
		}
		r.kind = Retry
		r.report.Attempts++
	}
}

// wait sleeps between two attempts. Where the context ends meanwhile, it
// returns the request's result at once.
func (r *request) wait(ctx context.Context, d time.Duration, last Result) *Result {
	if d <= 0 {
		return nil
	}
	if r.observer != nil {
		e := r.event(Waiting)
		e.Outcome, e.Err, e.Duration = last.Outcome, last.Err, d
		notify(r.observer, e)
	}
	begin := r.now
	timer := time.NewTimer(d)
	defer timer.Stop()
	var ended *Result
	select {
	case <-timer.C:
	case <-ctx.Done():
		result := interrupted(ctx)
		result.Value = last.Value
		result.Err = &InterruptedError{Reason: result.Err, Last: last.Err}
		ended = &result
	}
	r.now = time.Now()
	r.report.Waited += r.now.Sub(begin)
	return ended
}
