package resilience

import (
	"context"
	"fmt"
	"time"
)

// TimeoutGuard ends what it guards after a time. Inside of a retry it bounds
// an attempt, outside of it the request.
type TimeoutGuard struct {
	Limit time.Duration
}

// Kind is "timeout".
func (TimeoutGuard) Kind() string { return "timeout" }

// Validate says whether the limit is above 0.
func (g TimeoutGuard) Validate() error {
	if g.Limit <= 0 {
		return fmt.Errorf("duration: %v is not above 0", g.Limit)
	}
	return nil
}

func (g TimeoutGuard) layer(*maker) (layer, error) {
	return &timeoutLayer{limit: g.Limit, cause: &TimeoutError{Limit: g.Limit}}, nil
}

type timeoutLayer struct {
	limit time.Duration
	cause *TimeoutError
}

func (l *timeoutLayer) run(ctx context.Context, b *branch, rest []layer) Result {
	limited, cancel := context.WithDeadlineCause(ctx, b.now.Add(l.limit), l.cause)
	defer cancel()
	return b.next(limited, rest)
}
