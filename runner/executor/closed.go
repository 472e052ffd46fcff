package executor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// MinLength is the shortest that an executor may start iterations for, as in k6.
const MinLength = time.Second

// MaxVUs is the most virtual users that an executor may have, as in k6.
const MaxVUs = 100_000_000

// faults collects what is wrong.
type faults []error

func (f *faults) add(bad bool, format string, args ...any) {
	if bad {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

func (f faults) join() error { return errors.Join(f...) }

func (f *faults) users(key string, n int64) {
	f.add(n < 1, "%s: %d, want at least 1", key, n)
	f.add(n > MaxVUs, "%s: %d, want at most %d", key, n, MaxVUs)
}

func (f *faults) length(key string, d time.Duration) {
	f.add(d < MinLength, "%s: %s, want at least %s", key, d, MinLength)
}

// ConstantVUs loops a fixed number of virtual users for a time.
type ConstantVUs struct {
	VUs          int64
	Duration     time.Duration
	GracefulStop time.Duration // how long what still runs then may go on
}

// Type is k6's name of it.
func (ConstantVUs) Type() string { return "constant-vus" }

// Describe is the executor in a few words.
func (e ConstantVUs) Describe() string {
	return fmt.Sprintf("%d looping VUs for %s (gracefulStop: %s)", e.VUs, e.Duration, e.GracefulStop)
}

// Validate names everything that is wrong with it.
func (e ConstantVUs) Validate() error {
	var f faults
	f.users("vus", e.VUs)
	f.length("duration", e.Duration)
	return f.join()
}

// In is the part of a segment.
func (e ConstantVUs) In(s Segment) Executor {
	e.VUs = s.Scale(e.VUs)
	return e
}

// Plan is how many virtual users it needs.
func (e ConstantVUs) Plan() []Step { return flat(int(e.VUs), e.Duration+e.GracefulStop) }

// Length is the duration.
func (e ConstantVUs) Length() time.Duration { return e.Duration }

// Iterations is 0: time decides.
func (e ConstantVUs) Iterations() int64 { return 0 }

// Run loops the virtual users until the duration is over, and gives what runs
// then the graceful stop to end.
func (e ConstantVUs) Run(ctx context.Context, s *Scenario) {
	s.crew(ctx, int(e.VUs), e.Duration, e.GracefulStop, func(v VU, may func() bool) {
		for may() {
			s.count(v.Iterate())
		}
	})
}

// SharedIterations splits a fixed number of iterations among virtual users:
// the fast ones run more of them.
type SharedIterations struct {
	VUs, Total   int64
	MaxDuration  time.Duration
	GracefulStop time.Duration

	before int64 // iterations of the segments before this one
}

// Type is k6's name of it.
func (SharedIterations) Type() string { return "shared-iterations" }

// Describe is the executor in a few words.
func (e SharedIterations) Describe() string {
	return fmt.Sprintf("%d iterations shared among %d VUs (maxDuration: %s, gracefulStop: %s)",
		e.Total, e.VUs, e.MaxDuration, e.GracefulStop)
}

// Validate names everything that is wrong with it.
func (e SharedIterations) Validate() error {
	var f faults
	f.users("vus", e.VUs)
	f.add(e.Total < 1, "iterations: %d, want at least 1", e.Total)
	f.add(e.Total >= 1 && e.VUs >= 1 && e.Total < e.VUs, "iterations: %d, want at least as many as there are VUs (%d)", e.Total, e.VUs)
	f.length("maxDuration", e.MaxDuration)
	return f.join()
}

// In is the part of a segment: the iterations go with the virtual users.
func (e SharedIterations) In(s Segment) Executor {
	users := s.of(e.VUs)
	first, end := users.span(e.Total)
	e.VUs, e.Total, e.before = users.Scale(e.VUs), end-first, first
	return e
}

// Plan is how many virtual users it needs.
func (e SharedIterations) Plan() []Step { return flat(int(e.VUs), e.MaxDuration+e.GracefulStop) }

// Length is the longest that iterations are started.
func (e SharedIterations) Length() time.Duration { return e.MaxDuration }

// Iterations is the total.
func (e SharedIterations) Iterations() int64 { return e.Total }

// Run starts iterations until there were enough or the time is over, and then
// gives what runs the graceful stop to end. Those that never started are
// dropped, unless ctx has ended: nobody wants them then.
func (e SharedIterations) Run(ctx context.Context, s *Scenario) {
	var next, started atomic.Int64
	s.crew(ctx, int(e.VUs), e.MaxDuration, e.GracefulStop, func(v VU, may func() bool) {
		for may() && next.Add(1) <= e.Total {
			started.Add(1)
			s.count(v.Iterate())
		}
	})
	if ctx.Err() == nil {
		s.drop(e.Total - started.Load())
	}
}

// PerVUIterations has each virtual user run a fixed number of iterations.
type PerVUIterations struct {
	VUs, Each    int64
	MaxDuration  time.Duration
	GracefulStop time.Duration

	before int64 // iterations of the segments before this one
}

// Type is k6's name of it.
func (PerVUIterations) Type() string { return "per-vu-iterations" }

// Describe is the executor in a few words.
func (e PerVUIterations) Describe() string {
	return fmt.Sprintf("%d iterations for each of %d VUs (maxDuration: %s, gracefulStop: %s)",
		e.Each, e.VUs, e.MaxDuration, e.GracefulStop)
}

// Validate names everything that is wrong with it.
func (e PerVUIterations) Validate() error {
	var f faults
	f.users("vus", e.VUs)
	f.add(e.Each < 1, "iterations: %d, want at least 1", e.Each)
	f.add(e.VUs > 0 && e.Each > math.MaxInt64/e.VUs, "iterations: %d for each of %d VUs are too many", e.Each, e.VUs)
	f.length("maxDuration", e.MaxDuration)
	return f.join()
}

// In is the part of a segment.
func (e PerVUIterations) In(s Segment) Executor {
	first, end := s.span(e.VUs)
	e.VUs, e.before = end-first, first*e.Each
	return e
}

// Plan is how many virtual users it needs.
func (e PerVUIterations) Plan() []Step { return flat(int(e.VUs), e.MaxDuration+e.GracefulStop) }

// Length is the longest that iterations are started.
func (e PerVUIterations) Length() time.Duration { return e.MaxDuration }

// Iterations is the total.
func (e PerVUIterations) Iterations() int64 { return e.VUs * e.Each }

// Run lets each virtual user run its iterations, or as many as there is time
// for. The others are dropped, unless ctx has ended: nobody wants them then.
func (e PerVUIterations) Run(ctx context.Context, s *Scenario) {
	var started atomic.Int64
	s.crew(ctx, int(e.VUs), e.MaxDuration, e.GracefulStop, func(v VU, may func() bool) {
		for i := int64(0); i < e.Each && may(); i++ {
			started.Add(1)
			s.count(v.Iterate())
		}
	})
	if ctx.Err() == nil {
		s.drop(e.Iterations() - started.Load())
	}
}

// counted is an executor whose iterations are counted: those of a segment have
// numbers in a row.
type counted interface{ numberedFrom() int64 }

func (e SharedIterations) numberedFrom() int64 { return e.before }
func (e PerVUIterations) numberedFrom() int64  { return e.before }
