package executor

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// ArrivalRate starts iterations at a rate, whether those before have ended or
// not, as long as there are virtual users: constant-arrival-rate and
// ramping-arrival-rate.
type ArrivalRate struct {
	// Constant has one stage whose rate holds from the start; then StartRate
	// and all but the duration and target of Stages[0] have no meaning.
	Constant  bool
	StartRate int64
	TimeUnit  time.Duration // of the rates
	Stages    []Stage

	// PreAllocatedVUs are made before the run, the others up to MaxVUs when
	// they are missed. An iteration for which there is none is dropped.
	PreAllocatedVUs, MaxVUs int64
	GracefulStop            time.Duration

	// Poisson makes the arrivals those of a Poisson process of that rate, with
	// random numbers from there. Nil spaces them evenly.
	Poisson *rand.Rand

	segment Segment
}

// MaxRate is the most iterations that may start in a second.
const MaxRate = 10_000_000

// Type is k6's name of it.
func (e ArrivalRate) Type() string {
	if e.Constant {
		return "constant-arrival-rate"
	}
	return "ramping-arrival-rate"
}

// Describe is the executor in a few words.
func (e ArrivalRate) Describe() string {
	vus := fmt.Sprint(e.PreAllocatedVUs)
	if e.MaxVUs > e.PreAllocatedVUs {
		vus += fmt.Sprintf(" to %d", e.MaxVUs)
	}
	how := ""
	if e.Poisson != nil {
		how = "Poisson arrivals, "
	}
	share := e.segment.Share() / e.TimeUnit.Seconds()
	if e.Constant {
		return fmt.Sprintf("%.6g iterations/s for %s (%sVUs: %s, gracefulStop: %s)",
			float64(e.Stages[0].Target)*share, e.Length(), how, vus, e.GracefulStop)
	}
	most := e.StartRate
	for _, s := range e.Stages {
		most = max(most, s.Target)
	}
	return fmt.Sprintf("up to %.6g iterations/s for %s over %d stages (%sVUs: %s, gracefulStop: %s)",
		float64(most)*share, e.Length(), len(e.Stages), how, vus, e.GracefulStop)
}

// Validate names everything that is wrong with it.
func (e ArrivalRate) Validate() error {
	var f faults
	f.add(e.TimeUnit <= 0, "timeUnit: %s, want more than 0", e.TimeUnit)
	most := int64(math.MaxInt64)
	if e.TimeUnit > 0 {
		most = int64(min(MaxRate*e.TimeUnit.Seconds(), 1<<60))
	}
	switch {
	case e.Constant && len(e.Stages) != 1:
		f.add(true, "a constant rate has one duration")
	case e.Constant:
		rate := e.Stages[0].Target
		f.add(rate < 1, "rate: %d, want at least 1", rate)
		f.add(rate > most, "rate: %d, want at most %d in %s", rate, most, e.TimeUnit)
		f.length("duration", e.Stages[0].Duration)
	default:
		f.add(e.StartRate < 0, "startRate: %d is negative", e.StartRate)
		f.add(e.StartRate > most, "startRate: %d, want at most %d in %s", e.StartRate, most, e.TimeUnit)
		f.stages(e.Stages, most)
	}
	f.add(e.PreAllocatedVUs < 0, "preAllocatedVUs: %d is negative", e.PreAllocatedVUs)
	f.add(e.MaxVUs < e.PreAllocatedVUs, "maxVUs: %d, want at least preAllocatedVUs (%d)", e.MaxVUs, e.PreAllocatedVUs)
	f.add(e.MaxVUs < 1, "maxVUs: %d, want at least 1", e.MaxVUs)
	f.add(e.MaxVUs > MaxVUs, "maxVUs: %d, want at most %d", e.MaxVUs, MaxVUs)
	return f.join()
}

// In is the part of a segment: of the arrivals of the whole those that are its
// own, or a Poisson process of its share of the rate. Arrivals go with the
// virtual users, so that a segment that has none of these has none of those.
func (e ArrivalRate) In(s Segment) Executor {
	e.segment = s.of(e.MaxVUs)
	further := e.segment.Scale(e.MaxVUs) - e.segment.Scale(e.PreAllocatedVUs)
	e.PreAllocatedVUs = e.segment.Scale(e.PreAllocatedVUs)
	e.MaxVUs = e.PreAllocatedVUs + further
	return e
}

// Plan is how many virtual users it needs.
func (e ArrivalRate) Plan() []Step {
	return []Step{
		{VUs: int(e.PreAllocatedVUs), Unplanned: int(e.MaxVUs - e.PreAllocatedVUs)},
		{At: e.Length() + e.GracefulStop},
	}
}

// Length is that of all stages.
func (e ArrivalRate) Length() time.Duration { return stagesLength(e.Stages) }

// Iterations is 0: time decides.
func (e ArrivalRate) Iterations() int64 { return 0 }

// arrivals are the times at which iterations start, in order. The n-th of the
// whole is when the rate, added up over time, reaches n: from 0 where the rate
// is constant, so that the first starts at once; from 1 otherwise. A Poisson
// process is an even one with exponential steps instead of those of 1 (the
// time change theorem for point processes).
func (e ArrivalRate) arrivals() func() (time.Duration, bool) {
	curve := e.curve()
	if e.MaxVUs == 0 {
		return func() (time.Duration, bool) { return 0, false }
	}
	if e.Poisson != nil {
		n, share := 0.0, e.segment.Share()
		return func() (time.Duration, bool) {
			n += e.Poisson.ExpFloat64() / share
			return curve.at(n)
		}
	}
	row := e.segment.Row()
	return func() (time.Duration, bool) {
		n := row.Next()
		if !e.Constant {
			n++
		}
		return curve.at(float64(n))
	}
}

// curve is a rate over time, in straight lines.
type curve []line

type line struct {
	begin    time.Duration
	seconds  float64
	from, to float64 // arrivals per second
	before   float64 // arrivals before it
	closed   bool    // an arrival may be at its very end
}

func (e ArrivalRate) curve() curve {
	unit := e.TimeUnit.Seconds()
	rate := float64(e.StartRate) / unit
	if e.Constant {
		rate = float64(e.Stages[0].Target) / unit
	}
	var c curve
	begin, before := time.Duration(0), 0.0
	for _, s := range e.Stages {
		l := line{
			begin: begin, seconds: s.Duration.Seconds(), from: rate, to: float64(s.Target) / unit,
			before: before, closed: !e.Constant,
		}
		c = append(c, l)
		begin, before, rate = begin+s.Duration, before+l.area(), l.to
	}
	return c
}

func (l line) area() float64 { return l.seconds * (l.from + l.to) / 2 }

// at is when the curve's area reaches n. False: it never does.
func (c curve) at(n float64) (time.Duration, bool) {
	for _, l := range c {
		m, area := n-l.before, l.area()
		// The last arrival of a ramp is due at its end; what adding up the
		// lines before has lost must not lose it.
		const slack = 1e-9
		if m > area*(1+slack) || !l.closed && m >= area*(1-slack) || l.seconds == 0 {
			continue
		}
		// m = from·x + (to−from)·x²/(2·seconds), solved without cancellation.
		x := 0.0
		if m > 0 {
			x = 2 * m / (l.from + math.Sqrt(max(l.from*l.from+2*m*(l.to-l.from)/l.seconds, 0)))
		}
		return l.begin + time.Duration(min(x, l.seconds)*float64(time.Second)), true
	}
	return 0, false
}

// Run starts the iterations, and gives what runs at the end the graceful stop.
// Where it has fallen behind it ends all the same, and drops what was due.
func (e ArrivalRate) Run(ctx context.Context, s *Scenario) {
	begun := time.Now()
	end := begun.Add(e.Length())
	running, stop := context.WithDeadline(ctx, end.Add(e.GracefulStop))
	defer stop()
	d := &dispatcher{scenario: s, ctx: ctx, running: running, due: make(chan time.Time, max(e.MaxVUs, 1))}
	for range e.PreAllocatedVUs {
		v, ok := s.Pool.Get(ctx)
		if !ok {
			break
		}
		d.employ(v)
	}
	missed := make(chan struct{})
	var maker sync.WaitGroup
	maker.Go(func() {
		for range missed {
			v, err := s.Pool.Make(running)
			if err != nil {
				if running.Err() == nil {
					s.Log.Errorf("scenario %s: one more virtual user: %s", s.Name, err)
				}
				continue
			}
			d.employ(v)
		}
	})
	further, warned := e.MaxVUs-e.PreAllocatedVUs, false
	for next := e.arrivals(); ; {
		at, ok := next()
		if !ok {
			sleepUntil(ctx, end)
			break
		}
		if !sleepUntil(ctx, begun.Add(at)) {
			break
		}
		if time.Since(end) > overrun && at < e.Length() {
			s.drop(1 + rest(next)) // it has fallen behind, and its time is over
			break
		}
		if d.start(begun.Add(at)) {
			continue
		}
		s.drop(1)
		if further == 0 {
			if !warned {
				warned = true
				s.Log.Warnf("scenario %s: all %d virtual users are busy and there may be no more (maxVUs): iterations are dropped", s.Name, e.MaxVUs)
			}
			continue
		}
		select {
		case missed <- struct{}{}:
			further--
		default: // one is being made
		}
	}
	close(missed)
	maker.Wait()
	close(d.due)
	d.crew.Wait()
}

// overrun is how long after its end an executor that has fallen behind starts
// what was due before: long enough for a machine that is late for a moment.
const overrun = 100 * time.Millisecond

// rest is how many arrivals are left.
func rest(next func() (time.Duration, bool)) (n int64) {
	for _, ok := next(); ok; _, ok = next() {
		n++
	}
	return n
}

// dispatcher hands iterations to virtual users that are idle.
type dispatcher struct {
	scenario *Scenario
	ctx      context.Context // of the run
	running  context.Context // ends with it, or with the graceful stop
	idle     atomic.Int64
	due      chan time.Time // holds no more than there are idle ones
	crew     sync.WaitGroup
}

// employ lets a virtual user work until there is nothing more to do.
func (d *dispatcher) employ(v VU) {
	s := d.scenario
	v.Activate(d.running, s)
	d.idle.Add(1)
	d.crew.Go(func() {
		defer s.Pool.Put(v)
		defer v.Deactivate()
		for due := range d.due {
			if d.running.Err() != nil {
				if d.ctx.Err() == nil {
					s.drop(1)
				}
				continue
			}
			s.arrive(time.Since(due))
			s.iterate(v)
			d.idle.Add(1)
		}
	})
}

// start gives an iteration to an idle virtual user, if there is one.
func (d *dispatcher) start(due time.Time) bool {
	if d.idle.Add(-1) < 0 {
		d.idle.Add(1)
		return false
	}
	d.due <- due
	return true
}
