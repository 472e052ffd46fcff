package resilience

import (
	"context"
	"errors"
	"time"
)

// End is how a request ended.
type End uint8

// The ends of a request.
const (
	Success         End = iota // an acceptable answer arrived in time
	Degraded                   // a fallback answered
	Failed                     // the last attempt failed
	RejectedByGuard            // the last attempt was refused by a guard
)

// String is the end's name in metrics and reports.
func (e End) String() string {
	return [...]string{"success", "degraded", "failed", "rejected"}[e]
}

func end(o Outcome) End {
	switch {
	case o == OK:
		return Success
	case o.Rejected():
		return RejectedByGuard
	}
	return Failed
}

// Report is what came of a request.
type Report struct {
	Request uint64 // its number within the policy, from 1
	End     End
	Result  // of the last attempt; where a wait was interrupted, Err is an *InterruptedError
	// Attempts is 1 and one more for each retry, refused ones included.
	Attempts int
	// Calls is how many attempts were handed to the transport.
	Calls int
	// Timeouts is how many of those a timeout guard ended.
	Timeouts int
	// Waited is the time spent between attempts.
	Waited time.Duration
	// Duration is the time from the start of the request to its end.
	Duration time.Duration
}

// request is the state of one request, on the one goroutine that makes it.
type request struct {
	policy   *Policy
	call     Call
	observer Observer
	id       uint64
	kind     AttemptKind
	now      time.Time // as of the last event that took time
	report   Report
}

// next runs the rest of the stack: the guards, then the call.
func (r *request) next(ctx context.Context, rest []layer) Result {
	if len(rest) > 0 {
		return rest[0].run(ctx, r, rest[1:])
	}
	return r.attempt(ctx)
}

// event begins an event of this request.
func (r *request) event(k EventKind) Event {
	return Event{
		Kind: k, Policy: r.policy.config.Name, Request: r.id, At: r.now,
		Attempt: r.report.Attempts, AttemptKind: r.kind,
	}
}

// reject counts and tells a guard's refusal.
func (r *request) reject(err *RejectedError) Result {
	if r.observer != nil {
		e := r.event(Rejected)
		e.Outcome = err.By
		e.Err = err
		notify(r.observer, e)
	}
	return Result{Outcome: err.By, Err: err}
}

// attempt hands one attempt to the transport.
func (r *request) attempt(ctx context.Context) (result Result) {
	if ctx.Err() != nil { // nobody waits for the answer any more
		return interrupted(ctx)
	}
	deadline, limited := ctx.Deadline()
	a := Attempt{
		Policy: r.policy.config.Name, Request: r.id, Number: r.report.Attempts,
		Kind: r.kind, Started: r.now,
	}
	if limited {
		a.Timeout = max(deadline.Sub(r.now), 1)
	}
	r.report.Calls++
	inflight := r.policy.inflight.Add(1)
	if r.observer != nil {
		e := r.event(AttemptStarted)
		e.Inflight = int(inflight)
		notify(r.observer, e)
	}

	returned := false
	defer func() {
		r.now = time.Now()
		inflight := r.policy.inflight.Add(-1) + 1
		if !returned { // the call panics: that passes on, but it ended
			result = Result{Outcome: Thrown}
		}
		duration := r.now.Sub(a.Started)
		capped := result.Outcome == Timeout
		if capped {
			r.report.Timeouts++
			if limited {
				duration = min(duration, deadline.Sub(a.Started))
			}
		}
		if r.observer != nil {
			e := r.event(AttemptEnded)
			e.Outcome, e.Err = result.Outcome, result.Err
			e.Duration, e.Capped = duration, capped
			e.Inflight = int(inflight)
			notify(r.observer, e)
		}
	}()
	result = settle(ctx, r.call(ctx, a))
	returned = true
	return result
}

// settle gives a result that came back after its context had ended the
// outcome of that: what arrives too late is not an answer.
func settle(ctx context.Context, result Result) Result {
	if ctx.Err() != nil {
		late := interrupted(ctx)
		late.Value = result.Value
		return late
	}
	if result.Outcome != OK && result.Err == nil {
		result.Err = &OutcomeError{Outcome: result.Outcome}
	}
	return result
}

// interrupted is the result of an attempt whose context has ended: a Timeout
// where a timeout guard of any layer ended it, Cancelled where the caller did.
func interrupted(ctx context.Context) Result {
	cause := context.Cause(ctx)
	var timeout *TimeoutError
	if errors.As(cause, &timeout) {
		return Result{Outcome: Timeout, Err: cause}
	}
	return Result{Outcome: Cancelled, Err: cause}
}
