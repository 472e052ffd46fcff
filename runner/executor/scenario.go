package executor

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

// Scenario is a scenario of a run. Its exported fields are set before Run and
// not changed after; its methods are safe for concurrent use.
type Scenario struct {
	Name string
	// Exec is the name of the function that the iterations call.
	Exec string
	// Env are entries of __ENV, and Tags are tags of all samples, beside those
	// of the run.
	Env, Tags map[string]string
	// StartTime is when it begins, after the run has.
	StartTime time.Duration
	// Executor is that of the segment.
	Executor Executor
	Segment  Segment
	Pool     Pool
	// Dropped is told of iterations that could not be started. Nil: nobody is.
	Dropped func(n int64)
	// Log gets warnings.
	Log logrus.FieldLogger

	State
	begun atomic.Int64 // in nanoseconds since 1970

	mu      sync.Mutex
	numbers *Row
	started int64
}

// Run runs the scenario, from its start time after ctx's run has begun.
func (s *Scenario) Run(ctx context.Context) {
	if !sleepUntil(ctx, time.Now().Add(s.StartTime)) {
		return
	}
	s.begun.Store(time.Now().UnixNano())
	s.Executor.Run(ctx, s)
}

// Begun is when it began. Zero: it has not.
func (s *Scenario) Begun() time.Time {
	if ns := s.begun.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// Progress is how much of it is done, from 0 to 1: of its iterations, or of its
// time where that decides.
func (s *Scenario) Progress() float64 {
	begun := s.Begun()
	if begun.IsZero() {
		return 0
	}
	if n := s.Executor.Iterations(); n > 0 {
		return min(float64(s.Iterations())/float64(n), 1)
	}
	return min(time.Since(begun).Seconds()/s.Executor.Length().Seconds(), 1)
}

// Next numbers an iteration that begins, from 0: among those of the scenario
// here, and among those of all segments. Where iterations are counted the latter
// are all numbers below the total; where time decides some may be left out.
func (s *Scenario) Next() (inInstance, inTest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	if e, ok := s.Executor.(counted); ok {
		return s.started - 1, e.numberedFrom() + s.started - 1
	}
	if s.numbers == nil {
		s.numbers = s.Segment.Row()
	}
	return s.started - 1, s.numbers.Next()
}

func (s *Scenario) drop(n int64) {
	if n > 0 && s.Dropped != nil {
		s.Dropped(n)
	}
}

// iterate runs one iteration of an active virtual user.
func (s *Scenario) iterate(v VU) {
	s.active.Add(1)
	defer s.active.Add(-1)
	s.count(v.Iterate())
}

// crew runs loop on so many planned virtual users at once. Iterations may start
// while may says so, and run until ctx ends or grace after length.
func (s *Scenario) crew(ctx context.Context, users int, length, grace time.Duration, loop func(v VU, may func() bool)) {
	end := time.Now().Add(length)
	running, stop := context.WithDeadline(ctx, end.Add(grace))
	defer stop()
	may := func() bool { return time.Now().Before(end) && running.Err() == nil }
	// All are taken before the first one begins: it could be done, and be taken
	// a second time in the place of another.
	var vus []VU
	for range users {
		v, ok := s.Pool.Get(ctx)
		if !ok {
			break
		}
		vus = append(vus, v)
	}
	var wg sync.WaitGroup
	for _, v := range vus {
		wg.Go(func() {
			defer s.Pool.Put(v)
			v.Activate(running, s)
			defer v.Deactivate()
			s.active.Add(1)
			defer s.active.Add(-1)
			loop(v, may)
		})
	}
	wg.Wait()
}

// State counts what happens in a scenario. The zero value is ready.
type State struct {
	active, done, threw, interrupted atomic.Int64

	late    [64]atomic.Int64 // starts by their lateness: that of k is below 2ᵏ ns
	latest  atomic.Int64     // in ns
	arrived atomic.Int64
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

// Lateness is how long after their time the iterations of arrival-rate
// executors started. What starts late was not offered when it should have been.
type Lateness struct {
	Starts int64
	// P99 bounds the lateness of 99 % of the starts, up to a factor of 2.
	P99 time.Duration
	Max time.Duration
}

// Lateness is that of all starts so far.
func (s *State) Lateness() Lateness {
	l := Lateness{Starts: s.arrived.Load(), Max: time.Duration(s.latest.Load())}
	seen := int64(0)
	for k := range s.late {
		if seen += s.late[k].Load(); seen > 0 && float64(seen) >= 0.99*float64(l.Starts) {
			l.P99 = min(time.Duration(1)<<k, l.Max)
			break
		}
	}
	return l
}

func (s *State) arrive(late time.Duration) {
	late = max(late, 0)
	s.arrived.Add(1)
	s.late[bits.Len64(uint64(late))].Add(1)
	for {
		latest := s.latest.Load()
		if int64(late) <= latest || s.latest.CompareAndSwap(latest, int64(late)) {
			return
		}
	}
}
