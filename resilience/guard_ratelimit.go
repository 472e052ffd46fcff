package resilience

import (
	"context"
	"time"

	"github.com/retrylab/retrylab/resilience/ratelimit"
)

// RateLimitGuard bounds how many calls are made in a time. Those above wait
// for their turn, or are refused.
type RateLimitGuard struct {
	ratelimit.Config
}

// Kind is "rateLimit".
func (RateLimitGuard) Kind() string { return "rateLimit" }

func (g RateLimitGuard) layer(*maker) (layer, error) {
	l, err := ratelimit.New(g.Config)
	return &rateLimitLayer{l}, err
}

type rateLimitLayer struct{ limiter *ratelimit.Limiter }

func (l *rateLimitLayer) run(ctx context.Context, b *branch, rest []layer) Result {
	if ctx.Err() != nil { // nobody waits any more
		return interrupted(ctx)
	}
	wait, ok := l.limiter.Acquire(b.now)
	if !ok {
		return b.reject(errRateLimited)
	}
	if wait > 0 && !b.pause(ctx, wait) {
		l.limiter.Cancel()
		return interrupted(ctx)
	}
	return b.next(ctx, rest)
}

func (l *rateLimitLayer) reset(time.Time) { l.limiter.Reset() }
