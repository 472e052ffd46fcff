package executor

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// ConstantVUs loops a fixed number of virtual users for a time.
type ConstantVUs struct {
	Users        int
	Duration     time.Duration
	GracefulStop time.Duration
}

var _ Executor = ConstantVUs{}

// VUs is how many virtual users Run must be given.
func (c ConstantVUs) VUs() int { return c.Users }

// Length is the duration.
func (c ConstantVUs) Length() time.Duration { return c.Duration }

// Iterations is 0: time decides.
func (c ConstantVUs) Iterations() int64 { return 0 }

// Describe is the executor in a few words.
func (c ConstantVUs) Describe() string {
	return fmt.Sprintf("%d looping VUs for %s (gracefulStop: %s)", c.Users, c.Duration, c.GracefulStop)
}

// Run loops the virtual users until the duration is over, and gives what runs
// then the graceful stop to end.
func (c ConstantVUs) Run(ctx context.Context, scenario string, vus []VU, s *State) {
	crew(ctx, scenario, vus, s, c.Duration, c.GracefulStop, func() bool { return true })
}

// SharedIterations splits a fixed number of iterations among virtual users:
// the fast ones run more of them.
type SharedIterations struct {
	Users        int
	Total        int64
	MaxDuration  time.Duration
	GracefulStop time.Duration
}

var _ Executor = SharedIterations{}

// VUs is how many virtual users Run must be given.
func (e SharedIterations) VUs() int { return e.Users }

// Length is the longest that iterations are started.
func (e SharedIterations) Length() time.Duration { return e.MaxDuration }

// Iterations is the total.
func (e SharedIterations) Iterations() int64 { return e.Total }

// Describe is the executor in a few words.
func (e SharedIterations) Describe() string {
	return fmt.Sprintf("%d iterations shared among %d VUs (maxDuration: %s, gracefulStop: %s)",
		e.Total, e.Users, e.MaxDuration, e.GracefulStop)
}

// Run starts iterations until there were enough or the time is over, and then
// gives what runs the graceful stop to end.
func (e SharedIterations) Run(ctx context.Context, scenario string, vus []VU, s *State) {
	var started atomic.Int64
	crew(ctx, scenario, vus, s, e.MaxDuration, e.GracefulStop, func() bool { return started.Add(1) <= e.Total })
}
