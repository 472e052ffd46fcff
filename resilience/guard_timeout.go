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
		return fmt.Errorf("limit: %v is not above 0", g.Limit)
	}
	return nil
}

func (g TimeoutGuard) layer(*Policy) layer {
	return &timeoutLayer{limit: g.Limit, cause: &TimeoutError{Limit: g.Limit}}
}

type timeoutLayer struct {
	limit time.Duration
	cause *TimeoutError
}

func (l *timeoutLayer) run(ctx context.Context, r *request, rest []layer) Result {
	limited, cancel := context.WithDeadlineCause(ctx, r.now.Add(l.limit), l.cause)
	defer cancel()
	return r.next(limited, rest)
}
