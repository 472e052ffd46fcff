package resilience

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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

func end(r Result) End {
	switch {
	case r.Degraded:
		return Degraded
	case r.Outcome == OK:
		return Success
	case r.Outcome.Rejected():
		return RejectedByGuard
	}
	return Failed
}

// Report is what came of a request.
type Report struct {
	Request uint64 // a number that no other request of the policy has, from 1
	End     End
	Result  // of the last attempt; where a wait was interrupted, Err is an *InterruptedError
	// Attempts is 1 and one more for each retry and hedge, refused ones
	// included.
	Attempts int
	// Calls is how many attempts were handed to the transport.
	Calls int
	// Timeouts is how many of those a timeout guard ended.
	Timeouts int
	// Hedges is how many of those were sent beside another.
	Hedges int
	// BudgetExhausted says that an empty budget refused a retry or a hedge.
	BudgetExhausted bool
	// Waited is the time spent between attempts, and for permits.
	Waited time.Duration
	// Duration is the time from the start of the request to its end.
	Duration time.Duration
}

// request is the state of one request.
type request struct {
	policy   *Policy
	job      Request
	id       uint64       // a number of a block that the policy hands out; see idBlock
	attempts atomic.Int32 // made so far
	first    branch       // the one on the goroutine of the caller

	telling sync.Mutex // events of branches that run at once
}

// idBlock is how many numbers a policy hands out at once: a counter that every
// request changes is one that all requests wait for. A request that is used
// again takes the next number of its block.
const idBlock = 64

func (r *request) begin(p *Policy, job Request) {
	r.policy, r.job = p, job
	if r.id%idBlock == 0 { // its block is used up, or it has none yet
		r.id = p.ids.Add(idBlock) - idBlock
	}
	r.id++
	if r.attempts.Load() != 1 { // a store costs more than a look
		r.attempts.Store(1)
	}
	b := &r.first // zero: see forget
	b.request, b.attempt, b.now = r, 1, time.Now()
}

// forget lets go of what the request holds, before it is used again, but for
// its number.
func (r *request) forget() {
	r.policy, r.job, r.first = nil, Request{}, branch{}
}

// branch is a request on one goroutine: a hedge is a branch beside the first.
type branch struct {
	*request
	kind    AttemptKind
	attempt int       // the number of the present attempt
	now     time.Time // as of the last event that took time
	forked  bool      // other branches of the request run at the same time
	report  Report
}

// next runs the rest of the stack: the guards, then the call.
func (b *branch) next(ctx context.Context, rest []layer) Result {
	if len(rest) > 0 {
		return rest[0].run(ctx, b, rest[1:])
	}
	return b.call(ctx)
}

// again begins one more attempt.
func (b *branch) again(kind AttemptKind) {
	b.kind, b.attempt = kind, int(b.attempts.Add(1))
}

// event begins an event of this branch.
func (b *branch) event(k EventKind) Event {
	return Event{
		Kind: k, Policy: b.policy.config.Name, Request: b.id, At: b.now,
		Attempt: b.attempt, AttemptKind: b.kind,
	}
}

// tell passes an event on to the request's observer.
func (b *branch) tell(e Event) {
	if b.forked {
		b.telling.Lock()
		defer b.telling.Unlock()
	}
	notify(b.job.Observer, e)
}

// reject counts and tells a guard's refusal.
func (b *branch) reject(err *RejectedError) Result {
	if b.job.Observer != nil {
		e := b.event(Rejected)
		e.Outcome = err.By
		e.Err = err
		b.tell(e)
	}
	return Result{Outcome: err.By, Err: err}
}

// call hands one attempt to the transport.
func (b *branch) call(ctx context.Context) (result Result) {
	if ctx.Err() != nil { // nobody waits for the answer any more
		return interrupted(ctx)
	}
	deadline, limited := ctx.Deadline()
	a := Attempt{
		Policy: b.policy.config.Name, Request: b.id, Number: b.attempt, Kind: b.kind, Started: b.now,
	}
	if limited {
		a.Timeout = max(deadline.Sub(b.now), 1)
	}
	b.report.Calls++
	if b.kind == Hedge {
		b.report.Hedges++
	}
	inflight := b.policy.inflight.Add(1)
	if b.job.Observer != nil {
		e := b.event(AttemptStarted)
		e.Inflight = int(inflight)
		b.tell(e)
	}

	returned := false
	defer func() {
		b.now = b.clock()
		inflight := b.policy.inflight.Add(-1) + 1
		if !returned { // the call panics: that passes on, but it ended
			result = Result{Outcome: Thrown}
		}
		duration := b.now.Sub(a.Started)
		capped := result.Outcome == Timeout
		if capped {
			b.report.Timeouts++
			if limited {
				duration = min(duration, deadline.Sub(a.Started))
			}
		}
		if b.job.Observer != nil {
			e := b.event(AttemptEnded)
			e.Outcome, e.Err = result.Outcome, result.Err
			e.Duration, e.Capped = duration, capped
			e.Inflight = int(inflight)
			b.tell(e)
		}
	}()
	result = settle(ctx, b.job.Call(ctx, a))
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

// pause sleeps for d, or until the context ends, and counts the time as
// waited. It says whether d has passed.
func (b *branch) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	passed := false
	select {
	case <-timer.C:
		passed = true
	case <-ctx.Done():
	}
	b.waited()
	return passed
}

// waited counts the time since the last event as waited.
func (b *branch) waited() {
	now := b.clock()
	b.report.Waited += now.Sub(b.now)
	b.now = now
}

// clock is the time now. It reads the monotonic clock alone, which costs half
// of time.Now: a request's wall time is that of its start and goes on from
// there.
func (b *branch) clock() time.Time { return b.now.Add(time.Since(b.now)) }
