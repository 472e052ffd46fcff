// Package breaker is a circuit breaker: closed, open, half-open, plus forced
// open and disabled.
//
// [Machine] is the state machine alone. It takes the time as an argument and
// holds no clock and no lock, so that a test, a replay or a simulator can
// drive it. [Breaker] is the machine behind a lock.
package breaker

import (
	"math"
	"time"
)

// State of a breaker. The zero value is Closed.
type State uint8

// The states.
const (
	Closed     State = iota // calls pass and are recorded
	HalfOpen                // a few calls pass as probes
	Open                    // no call passes until its time is over
	ForcedOpen              // no call passes until forced into another state
	Disabled                // calls pass and nothing is recorded
)

// String is the state's name in logs and reports.
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case HalfOpen:
		return "half-open"
	case Open:
		return "open"
	case ForcedOpen:
		return "forced-open"
	case Disabled:
		return "disabled"
	}
	return "unknown"
}

// Verdict is what a result means to a breaker. The zero value is Neutral.
type Verdict uint8

// The verdicts.
const (
	Neutral Verdict = iota // says nothing of the callee: the permit is returned and that is all
	Success
	Failure
)

// Result is what came of a permitted call.
type Result struct {
	Verdict  Verdict
	Duration time.Duration // only a slow-call rule looks at it
}

// Permit is the right to one call. It carries the generation of the state
// that granted it. The zero value is no permit.
type Permit struct {
	generation uint64
	probe      uint64 // which probe, in the half-open state
}

// Change is one change of state. The zero value is no change.
type Change struct {
	Seq      uint64 // 1, 2, 3, … in the order in which the changes of one breaker happened
	From, To State
	At       time.Time
}

// Happened says whether c is a change at all.
func (c Change) Happened() bool { return c.Seq != 0 }

// Counts is what a breaker's window holds: one of consecutive failures the
// failures since the last success, and nothing else.
type Counts struct {
	Total, Failures, Slow int
	Consecutive           int // failures since the last success
}

// Machine is the state machine. Its methods must not be called at once from
// several goroutines. The times given to it must not run backwards, but for
// the little by which goroutines overtake each other.
type Machine struct {
	cfg        Config
	state      State
	generation uint64
	changes    uint64
	openUntil  time.Time
	reopened   int // how often it opened since it was closed last
	memory     memory
	half       halfOpen
}

// halfOpen is what a machine knows while it is half-open.
type halfOpen struct {
	running         []probe
	lastProbe       uint64
	succeeded, slow int
}

type probe struct {
	id      uint64
	started time.Time
}

// NewMachine returns a closed machine. The config must be valid.
func NewMachine(c Config) Machine {
	return Machine{cfg: c, generation: 1, memory: newMemory(c.Window)}
}

// State is the state as of the last call of another method.
func (m *Machine) State() State { return m.state }

// Counts is what the window holds at now.
func (m *Machine) Counts(now time.Time) Counts {
	m.memory.slide(now)
	return m.memory.counts
}

// Acquire asks for a permit. An open machine whose time is over becomes
// half-open by it.
func (m *Machine) Acquire(now time.Time) (Permit, Change, bool) {
	switch m.state {
	case Closed, Disabled:
		return Permit{generation: m.generation}, Change{}, true
	case Open:
		if now.Before(m.openUntil) {
			return Permit{}, Change{}, false
		}
		change := m.become(HalfOpen, now)
		p, ok := m.probe(now)
		return p, change, ok
	case HalfOpen:
		p, ok := m.probe(now)
		return p, Change{}, ok
	}
	return Permit{}, Change{}, false
}

// passing is the generation whose permits are granted whatever the time, and
// without a trace. 0: there is none in this state.
func (m *Machine) passing() uint64 {
	if m.state == Closed || m.state == Disabled {
		return m.generation
	}
	return 0
}

// indifferent is the generation in which one more success, that is not slow,
// would change nothing whatever the time: neither the state nor what the window
// holds. 0: it would.
func (m *Machine) indifferent() uint64 {
	if m.state == Closed && m.memory.saturated() {
		return m.generation
	}
	return 0
}

// probe grants one of the half-open state's permits, or the one of a probe
// that has been running for too long.
func (m *Machine) probe(now time.Time) (Permit, bool) {
	h := &m.half
	if len(h.running)+h.succeeded >= m.cfg.HalfOpen.Calls {
		if m.cfg.HalfOpen.MaxWait <= 0 || len(h.running) == 0 || now.Sub(h.running[0].started) < m.cfg.HalfOpen.MaxWait {
			return Permit{}, false
		}
		h.running = append(h.running[:0], h.running[1:]...) // oldest first
	}
	h.lastProbe++
	h.running = append(h.running, probe{id: h.lastProbe, started: now})
	return Permit{generation: m.generation, probe: h.lastProbe}, true
}

// Done gives a permit back, which must be done once: a closed machine keeps no
// list of its permits and would count a second result too. It says whether the
// result counted, and the change of state that it caused.
func (m *Machine) Done(p Permit, r Result, now time.Time) (bool, Change) {
	if p.generation != m.generation {
		return false, Change{}
	}
	switch m.state {
	case Closed:
		return m.doneClosed(r, now)
	case HalfOpen:
		return m.doneProbe(p, r, now)
	}
	return false, Change{}
}

func (m *Machine) doneClosed(r Result, now time.Time) (bool, Change) {
	if r.Verdict == Neutral {
		return false, Change{}
	}
	m.memory.record(now, r.Verdict == Failure, m.isSlow(r))
	if m.tripped() {
		return true, m.open(now)
	}
	return true, Change{}
}

// tripped says whether what the window holds opens the breaker.
func (m *Machine) tripped() bool {
	c := &m.memory.counts
	if n := m.cfg.Window.Consecutive; n > 0 {
		return c.Consecutive >= n
	}
	if c.Total < m.cfg.MinCalls {
		return false
	}
	return reaches(c.Failures, c.Total, m.cfg.FailureRate) ||
		m.cfg.SlowCall.Over > 0 && reaches(c.Slow, c.Total, m.cfg.SlowCall.Rate)
}

// reaches says whether n of total is at least a rate above 0. It divides,
// because 7/100 is the nearest number to 0.07, as the written rate is, while
// 0.07·100 is more than 7.
func reaches(n, total int, rate float64) bool {
	return n > 0 && float64(n)/float64(total) >= rate
}

func (m *Machine) isSlow(r Result) bool {
	return m.cfg.SlowCall.Over > 0 && r.Duration > m.cfg.SlowCall.Over
}

func (m *Machine) doneProbe(p Permit, r Result, now time.Time) (bool, Change) {
	h := &m.half
	i := 0
	for i < len(h.running) && h.running[i].id != p.probe {
		i++
	}
	if i == len(h.running) { // returned before, or replaced after MaxWait
		return false, Change{}
	}
	h.running = append(h.running[:i], h.running[i+1:]...)
	switch r.Verdict {
	case Failure:
		return true, m.open(now)
	case Success:
		h.succeeded++
		if m.isSlow(r) {
			h.slow++
		}
		if h.succeeded < m.cfg.HalfOpen.Calls {
			return true, Change{}
		}
		if reaches(h.slow, h.succeeded, m.cfg.SlowCall.Rate) {
			return true, m.open(now)
		}
		m.reopened = 0
		return true, m.become(Closed, now)
	}
	return false, Change{}
}

// open opens the machine for its next open time.
func (m *Machine) open(now time.Time) Change {
	m.openUntil = now.Add(m.openTime())
	m.reopened++
	return m.become(Open, now)
}

// openTime is how long the next open state lasts.
func (m *Machine) openTime() time.Duration {
	o := m.cfg.OpenFor
	if o.Multiplier <= 1 || m.reopened == 0 {
		return o.Initial
	}
	limit := o.Max
	if limit == 0 {
		limit = max(longestOpen, o.Initial)
	}
	d := float64(o.Initial) * math.Pow(o.Multiplier, float64(m.reopened))
	if d >= float64(limit) {
		return limit
	}
	return time.Duration(d)
}

// Force puts the machine into s at now: Closed (with an empty window), Open
// or ForcedOpen (until forced again), or Disabled. HalfOpen is left to the
// machine: forcing it changes nothing.
func (m *Machine) Force(s State, now time.Time) Change {
	if s == Open {
		s = ForcedOpen
	}
	if s == HalfOpen {
		return Change{}
	}
	m.reopened = 0
	if s == m.state {
		m.begin()
		return Change{}
	}
	return m.become(s, now)
}

func (m *Machine) become(s State, now time.Time) Change {
	m.changes++
	change := Change{Seq: m.changes, From: m.state, To: s, At: now}
	m.state = s
	m.begin()
	return change
}

// begin starts a new generation of the present state: whatever was permitted
// before no longer counts.
func (m *Machine) begin() {
	m.generation++
	m.memory.reset()
	m.half = halfOpen{running: m.half.running[:0], lastProbe: m.half.lastProbe}
}
