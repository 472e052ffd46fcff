// Package executor starts iterations: how many virtual users run, when, and
// how many times. It knows nothing of JS.
package executor

import (
	"context"
	"sync"
	"sync/atomic"
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
	Activate(ctx context.Context, scenario string)
	// Iterate runs one iteration.
	Iterate() Outcome
	// Deactivate undoes Activate.
	Deactivate()
}

// State counts what happens. All of it is safe for concurrent use; the zero
// value is ready.
type State struct {
	active, done, threw, interrupted atomic.Int64
}

// Active is how many virtual users run iterations right now.
func (s *State) Active() int { return int(s.active.Load()) }

// Iterations is how many iterations ran to their end, those that threw included.
func (s *State) Iterations() int64 { return s.done.Load() + s.threw.Load() }

// Threw is how many iterations threw.
func (s *State) Threw() int64 { return s.threw.Load() }

// Interrupted is how many iterations were interrupted.
func (s *State) Interrupted() int64 { return s.interrupted.Load() }

func (s *State) count(o Outcome) {
	switch o {
	case Done:
		s.done.Add(1)
	case Threw:
		s.threw.Add(1)
	case Interrupted:
		s.interrupted.Add(1)
	}
}

// Executor runs the iterations of one scenario.
type Executor interface {
	// VUs is how many virtual users Run must be given.
	VUs() int
	// Length is how long Run takes at most, without the graceful stop.
	Length() time.Duration
	// Iterations is how many iterations there will be, 0 if time decides.
	Iterations() int64
	// Describe is the executor in a few words.
	Describe() string
	// Run returns when all iterations have ended. When ctx ends no iteration
	// starts any more and the running ones are interrupted.
	Run(ctx context.Context, scenario string, vus []VU, s *State)
}

// crew runs loop on each virtual user. Iterations may start while starting is
// alive, and run until ctx ends or grace after starting has ended.
func crew(ctx context.Context, scenario string, vus []VU, s *State, length, grace time.Duration, next func() bool) {
	starting, stopStarting := context.WithTimeout(ctx, length)
	defer stopStarting()
	running, stopRunning := context.WithTimeout(ctx, length+grace)
	defer stopRunning()
	var wg sync.WaitGroup
	for _, v := range vus {
		wg.Go(func() {
			v.Activate(running, scenario)
			defer v.Deactivate()
			s.active.Add(1)
			defer s.active.Add(-1)
			for starting.Err() == nil && next() {
				s.count(v.Iterate())
			}
		})
	}
	wg.Wait()
}
