package resilience

import (
	"context"
	"errors"
	"time"

	"github.com/retrylab/retrylab/resilience/budget"
	"github.com/retrylab/retrylab/resilience/hedge"
)

// HedgeGuard sends a second call beside one that takes long. The first answer
// wins: a success, or a 4xx, which another call would only get again. The
// others are cancelled, and counted as calls.
type HedgeGuard struct {
	hedge.Config
	// Budget bounds the hedges of all requests together. Nil: nothing does.
	Budget *budget.Config
}

// Kind is "hedge".
func (HedgeGuard) Kind() string { return "hedge" }

// Validate names everything that is wrong with g.
func (g HedgeGuard) Validate() error {
	return flatten(g.Config.Validate(), validateBudget(g.Budget))
}

func (g HedgeGuard) layer(m *maker) (layer, error) {
	timer, err := hedge.New(g.Config)
	if err != nil {
		return nil, err
	}
	allowance, err := m.allowance(g.Budget)
	return &hedgeLayer{timer: timer, max: g.Max, budget: allowance}, err
}

type hedgeLayer struct {
	timer  *hedge.Timer
	max    int
	budget *allowance
}

// answered is what one branch of a hedged call came to.
type answered struct {
	branch   *branch
	hedge    bool // it was begun as a hedge, whatever it did then
	result   Result
	panicked any // what the call panicked with; nil: it returned
}

func (l *hedgeLayer) run(ctx context.Context, b *branch, rest []layer) Result {
	if l.budget == nil {
		return l.hedge(ctx, b, rest, nil)
	}
	spent := l.budget.begin(b.now)
	defer spent.end()
	result := l.hedge(ctx, b, rest, &spent)
	spent.success = result.Outcome == OK
	return result
}

// hedge makes the call, and hedges once it is known when to. Spent is nil where
// there is no budget.
func (l *hedgeLayer) hedge(ctx context.Context, b *branch, rest []layer, spent *spending) Result {
	delay, known := l.timer.Delay()
	if known {
		h := &hedged{layer: l, parent: b, rest: rest, ended: make(chan answered, 1+l.max), begin: b.now}
		return h.race(ctx, delay, spent)
	}
	begin := b.now
	result := b.next(ctx, rest)
	if result.Outcome == OK { // what failed or was refused says nothing of how long an answer takes
		l.timer.Record(b.now.Sub(begin))
	}
	return result
}

func (l *hedgeLayer) describe(s *State, now time.Time) { l.budget.describe(s, now) }

func (l *hedgeLayer) reset(time.Time) {
	l.timer.Reset()
	l.budget.reset()
}

// hedged is one call and the hedges beside it.
type hedged struct {
	layer   *hedgeLayer
	parent  *branch
	rest    []layer
	ended   chan answered
	begin   time.Time
	running int
	hedges  int
}

// race makes the calls and waits until all of them have ended, which those
// that lost do at once, their contexts being cancelled.
func (h *hedged) race(ctx context.Context, delay time.Duration, spent *spending) Result {
	racing, cancel := context.WithCancelCause(ctx)
	defer cancel(errLost)
	alone := !h.parent.forked
	h.parent.forked = true
	h.start(racing, h.parent.kind, h.parent.attempt)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	var last answered
	for won := false; h.running > 0; {
		select {
		case a := <-h.ended:
			h.running--
			h.merge(a)
			if a.panicked == nil && !won && !isAnswer(a.result) && a.result.Outcome != Cancelled {
				spent.failed()
			}
			switch {
			case a.panicked != nil:
				cancel(errLost)
				last, won = a, true
			case won:
			default:
				last = a
				if won = isAnswer(a.result); won {
					cancel(errLost)
				}
			}
		case <-timer.C:
			if won || h.hedges >= h.layer.max || ctx.Err() != nil {
				continue
			}
			h.parent.now = time.Now()
			if !spent.spend(h.parent, Result{Outcome: last.result.Outcome, Err: last.result.Err}) {
				continue
			}
			h.hedges++
			h.start(racing, Hedge, int(h.parent.attempts.Add(1)))
			timer.Reset(delay)
		}
	}
	h.parent.now, h.parent.forked = time.Now(), !alone
	if last.panicked != nil {
		panic(last.panicked)
	}
	return last.result
}

func isAnswer(r Result) bool { return r.Outcome == OK || r.Outcome == HTTP4xx }

// start makes a call on a goroutine of its own.
func (h *hedged) start(ctx context.Context, kind AttemptKind, attempt int) {
	h.running++
	b := &branch{request: h.parent.request, kind: kind, attempt: attempt, now: time.Now(), forked: true}
	go func() {
		a := answered{branch: b, hedge: kind == Hedge, panicked: errPanicNil}
		defer func() {
			if r := recover(); r != nil {
				a.panicked = r
			}
			h.ended <- a
		}()
		a.result = b.next(ctx, h.rest)
		a.panicked = nil
	}()
}

// errPanicNil stands for a goroutine that ended without a result.
var errPanicNil = errors.New("the call ended its goroutine")

// merge adds what a branch has counted to the request.
func (h *hedged) merge(a answered) {
	r := &h.parent.report
	r.Calls += a.branch.report.Calls
	r.Timeouts += a.branch.report.Timeouts
	r.Hedges += a.branch.report.Hedges
	r.Waited += a.branch.report.Waited
	r.BudgetExhausted = r.BudgetExhausted || a.branch.report.BudgetExhausted
	if !a.hedge && a.panicked == nil && (a.result.Outcome == OK || errors.Is(a.result.Err, errLost)) {
		h.layer.timer.Record(a.branch.now.Sub(h.begin))
	}
}
