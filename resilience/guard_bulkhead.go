package resilience

import (
	"context"
	"time"

	"github.com/retrylab/retrylab/resilience/bulkhead"
)

// BulkheadGuard bounds how many calls run at once. Those above wait for a
// permit, or are refused.
type BulkheadGuard struct {
	bulkhead.Config
}

// Kind is "bulkhead".
func (BulkheadGuard) Kind() string { return "bulkhead" }

func (g BulkheadGuard) layer(*maker) (layer, error) {
	b, err := bulkhead.New(g.Config)
	return &bulkheadLayer{bulkhead: b, maxWait: g.MaxWait}, err
}

type bulkheadLayer struct {
	bulkhead *bulkhead.Bulkhead
	maxWait  time.Duration
}

func (l *bulkheadLayer) run(ctx context.Context, b *branch, rest []layer) Result {
	if !l.bulkhead.TryAcquire() {
		if refused := l.wait(ctx, b); refused != nil {
			return *refused
		}
	}
	defer l.bulkhead.Release()
	return b.next(ctx, rest)
}

// wait queues for a permit. Nil: it has one.
func (l *bulkheadLayer) wait(ctx context.Context, b *branch) *Result {
	if l.maxWait <= 0 {
		refused := b.reject(errBulkheadFull)
		return &refused
	}
	ticket := l.bulkhead.Join()
	if ticket == nil {
		refused := b.reject(errBulkheadFull)
		return &refused
	}
	timer := time.NewTimer(l.maxWait)
	defer timer.Stop()
	select {
	case <-ticket.Ready():
		b.waited()
		return nil
	case <-timer.C:
		b.waited()
		if l.bulkhead.Leave(ticket) {
			return nil // it came at the last moment
		}
		refused := b.reject(errBulkheadFull)
		return &refused
	case <-ctx.Done():
		b.waited()
		if l.bulkhead.Leave(ticket) {
			l.bulkhead.Release()
		}
		ended := interrupted(ctx)
		return &ended
	}
}

func (l *bulkheadLayer) describe(s *State, _ time.Time) {
	if !s.HasBulkhead {
		s.HasBulkhead, s.Available, s.Waiting = true, l.bulkhead.Available(), l.bulkhead.Waiting()
	}
}
