package modules

import (
	"context"
	"sync"
	"time"
)

// Pacer spaces the requests of all virtual users evenly. Nil spaces nothing.
// It is safe for concurrent use.
type Pacer struct {
	every time.Duration

	mu   sync.Mutex
	next time.Time
}

// NewPacer lets through so many requests a second, which must be more than 0.
func NewPacer(perSecond int) *Pacer {
	return &Pacer{every: time.Second / time.Duration(perSecond)}
}

// Wait waits for the caller's turn. Its error is that of ctx, whose end gives
// no turn back.
func (p *Pacer) Wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	wait := p.turn(time.Now())
	if wait <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turn takes the next turn, and is how long it is until then.
func (p *Pacer) turn(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(p.every)
	return at.Sub(now)
}
