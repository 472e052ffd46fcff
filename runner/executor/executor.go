// Package executor starts iterations: how many virtual users run, when, and
// how many times. It knows nothing of JS.
//
// An [Executor] is configuration: what is to be done. A [Scenario] is an
// executor at work.
package executor

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Outcome is how an iteration ended.
type Outcome uint8

// The outcomes of an iteration.
const (
	Done        Outcome = iota // it ran to its end
	Threw                      // it ran to an error; it counts as an iteration
	Interrupted                // its context ended first; it does not count
)

// VU is a virtual user. One goroutine at a time uses it.
type VU interface {
	// Activate lets it run iterations of a scenario until ctx ends, when a
	// running one is interrupted.
	Activate(ctx context.Context, s *Scenario)
	// Iterate runs one iteration.
	Iterate() Outcome
	// Deactivate undoes Activate.
	Deactivate()
}

// Pool lends virtual users. It is safe for concurrent use.
type Pool interface {
	// Get waits for one of those that were planned. False: ctx ended first.
	Get(ctx context.Context) (VU, bool)
	// Make makes one that was not planned.
	Make(ctx context.Context) (VU, error)
	// Put gives one back.
	Put(VU)
}

// Executor says when the iterations of a scenario start.
type Executor interface {
	// Type is k6's name of it.
	Type() string
	// Describe is the executor in a few words.
	Describe() string
	// Validate names everything that is wrong with it, in one joined error.
	Validate() error
	// In is the part of it that a segment of a run has.
	In(Segment) Executor
	// Plan is how many virtual users it needs, from its start on.
	Plan() []Step
	// Length is how long it starts iterations at most.
	Length() time.Duration
	// Iterations is how many there will be, 0 where time decides.
	Iterations() int64
	// Run returns when all iterations have ended. When ctx ends no iteration
	// starts any more and the running ones are interrupted.
	Run(ctx context.Context, s *Scenario)
}

// Executors are the types that [Executor.Type] may have.
func Executors() []string {
	return []string{
		"shared-iterations", "per-vu-iterations", "constant-vus", "ramping-vus",
		"constant-arrival-rate", "ramping-arrival-rate",
	}
}

// Step is how many virtual users a plan needs from a time on.
type Step struct {
	At time.Duration
	// VUs are those that must have been made before, Unplanned those that may
	// be made beside them.
	VUs, Unplanned int
}

// flat is the plan of so many virtual users until their time is over.
func flat(vus int, until time.Duration) []Step {
	return []Step{{VUs: vus}, {At: until}}
}

// Shift is a plan that begins later.
func Shift(plan []Step, by time.Duration) []Step {
	out := slices.Clone(plan)
	for i := range out {
		out[i].At += by
	}
	return out
}

// Peak is the most that some plans need together: how many planned virtual
// users at one time, and how many in all.
func Peak(plans ...[]Step) (planned, all int) {
	type change struct {
		at           time.Duration
		vus, further int
	}
	var changes []change
	for _, plan := range plans {
		var now Step
		for _, s := range plan {
			changes = append(changes, change{s.At, s.VUs - now.VUs, s.Unplanned - now.Unplanned})
			now = s
		}
	}
	// What is given back at an instant is there for who needs it then.
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.vus+a.further, b.vus+b.further))
	})
	vus, further := 0, 0
	for _, c := range changes {
		vus, further = vus+c.vus, further+c.further
		planned, all = max(planned, vus), max(all, vus+further)
	}
	return planned, all
}

// sleepUntil waits for a time. False: ctx ended before.
func sleepUntil(ctx context.Context, at time.Time) bool {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
