package resilience

import (
	"context"
	"time"

	"github.com/retrylab/retrylab/resilience/throttle"
)

// Defaults of a ThrottleGuard, as its source has them.
const (
	DefaultThrottleK      = 2
	DefaultThrottleWindow = 2 * time.Minute
)

// ThrottleGuard refuses some requests itself when the callee accepts few of
// them. A request counts when it starts, so that calls which hang count too.
type ThrottleGuard struct {
	throttle.Config
}

// Kind is "throttle".
func (ThrottleGuard) Kind() string { return "throttle" }

func (g ThrottleGuard) layer(m *maker) (layer, error) {
	t, err := throttle.New(g.Config)
	return &throttleLayer{t}, err
}

type throttleLayer struct{ throttle *throttle.Throttle }

// accepted is what a callee that is not overloaded answers: it took the
// request, or the caller left by himself.
func accepted(o Outcome) bool { return o == OK || o == HTTP4xx || o == Cancelled }

func (l *throttleLayer) run(ctx context.Context, b *branch, rest []layer) Result {
	if !l.throttle.Admit(b.now, b.policy.random()) {
		return b.reject(errThrottled)
	}
	result := b.next(ctx, rest)
	if accepted(result.Outcome) {
		l.throttle.Accept(b.now)
	}
	return result
}

func (l *throttleLayer) reset(time.Time) { l.throttle.Reset() }

func (l *throttleLayer) describe(s *State, now time.Time) {
	if !s.HasThrottle {
		s.HasThrottle, s.Throttle = true, l.throttle.Probability(now)
	}
}
