// Package stats is the ledger of the downstream: it counts what becomes of every call received and how
// much of the server's work was done for callers that had given up.
//
// The ledger is a pure state machine: it takes the time as an argument and holds no clock.
package stats

import (
	"sync"
	"time"
)

// Outcome is how a call ended: [Finished], [Abandoned], or else the kind of its failure.
type Outcome string

// The outcomes of a call. All but the first two are kinds of failure and keys of [Snapshot.Failed].
const (
	Finished     Outcome = "finished"      // answered well, the client still there
	Abandoned    Outcome = "abandoned"     // the client was known to be gone before the answer
	HTTP4xx      Outcome = "http_4xx"      // answered with a client error other than 429
	HTTP429      Outcome = "http_429"      // answered with 429
	HTTP5xx      Outcome = "http_5xx"      // answered with a server error
	ServerClosed Outcome = "server_closed" // cut because the server did not wait for it on closing
	Panicked     Outcome = "panic"         // the handler panicked
)

// OutcomeOf returns the outcome of a call that is answered with an HTTP status: [Finished] below 400.
func OutcomeOf(status int) Outcome {
	switch {
	case status < 400:
		return Finished
	case status == 429:
		return HTTP429
	case status < 500:
		return HTTP4xx
	}
	return HTTP5xx
}

// OverdueSlack is how long before its patience runs out a call already counts as overdue in
// [Snapshot.MaxInflightOverdue]: the caller's clock starts before the call reaches the server.
const OverdueSlack = 5 * time.Millisecond

// Snapshot is the ledger at one instant. At every instant
//
//	Received = Finished + sum of Failed + Abandoned + Inflight
//
// Fields that end in _ms in JSON are milliseconds.
type Snapshot struct {
	// Scenario and Seed say what was served. The ledger leaves them for the server to fill.
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`

	// UptimeMs is the age of the server, CountedMs the time since its last reset, which is the span that
	// all counters cover. The ledger leaves the former for the server to fill.
	UptimeMs  float64 `json:"uptime_ms"`
	CountedMs float64 `json:"counted_ms"`

	// Received counts calls whose header arrived, Retries those of them that said they were a second or
	// later attempt, Started those whose service began.
	Received uint64 `json:"received"`
	Retries  uint64 `json:"retries"`
	Started  uint64 `json:"started"`

	// Finished counts calls answered well, Failed those answered otherwise or cut, by kind; never nil.
	// Abandoned counts calls whose client was known to be gone before the answer, whatever it would
	// have been.
	Finished  uint64            `json:"finished"`
	Failed    map[string]uint64 `json:"failed"`
	Abandoned uint64            `json:"abandoned"`

	// Inflight counts calls received and not ended, MaxInflight the most there were. The latter is an
	// observation of concurrency, never proof of saturation. MaxInflightOverdue says how many of them,
	// when the maximum was first reached, had outlived their caller: its patience had run out (to within
	// [OverdueSlack]) or it was known to be gone. It is why a server sees more calls than a bulkhead at
	// the caller lets out.
	Inflight           int `json:"inflight"`
	MaxInflight        int `json:"max_inflight"`
	MaxInflightOverdue int `json:"max_inflight_overdue"`

	// BusyMs is the time spent serving, summed over calls; ResidualMs the part of it after the caller gave
	// up: when the patience it announced ran out or, if earlier, when it was seen to be gone. Both include
	// the work so far of calls in flight.
	BusyMs     float64 `json:"busy_ms"`
	ResidualMs float64 `json:"residual_ms"`

	// Dials counts connections accepted.
	Dials uint64 `json:"dials"`
}

// Ledger counts calls. Make one with [NewLedger]; a reset is a new Ledger, so that calls in flight
// across it end in the old one. All methods are safe for concurrent use.
type Ledger struct {
	since time.Time

	// One mutex, held for a few assignments, instead of an atomic per counter: a Snapshot must see all of
	// them at one instant.
	mu         sync.Mutex
	received   uint64
	retries    uint64
	started    uint64
	finished   uint64
	abandoned  uint64
	failed     map[Outcome]uint64
	open       []*Call // calls in flight, in no order
	max        int
	maxOverdue int
	busy       time.Duration
	residual   time.Duration
	dials      uint64
}

// Call is one call in the books of the Ledger that received it.
type Call struct {
	ledger   *Ledger
	n        uint64
	slot     int       // index in ledger.open; -1 once ended
	deadline time.Time // when the caller's patience runs out; zero: unknown
	start    time.Time // when service began; zero: not yet
	gone     time.Time // when the client was seen to be gone; zero: it is there
}

// Arrival is what is known of a call when it arrives. The zero value is a call that says nothing.
type Arrival struct {
	// Patience is how long the caller is going to wait for the answer; 0 or less: unknown.
	Patience time.Duration
	// Retry says that the call announced itself as a second or later attempt.
	Retry bool
}

// NewLedger returns an empty ledger that counts from now.
func NewLedger(now time.Time) *Ledger {
	return &Ledger{since: now, failed: make(map[Outcome]uint64)}
}

// Receive counts a call as received and in flight. It must be ended with [Call.End].
func (l *Ledger) Receive(now time.Time, a Arrival) *Call {
	c := &Call{ledger: l}
	if a.Patience > 0 {
		c.deadline = now.Add(a.Patience)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received++
	c.n = l.received
	if a.Retry {
		l.retries++
	}
	c.slot = len(l.open)
	l.open = append(l.open, c)
	if len(l.open) > l.max {
		l.max = len(l.open)
		l.maxOverdue = 0
		// All but the newcomer, whose caller has just asked. The walk is only made when the maximum grows.
		for _, o := range l.open[:c.slot] {
			if !o.gone.IsZero() || !o.deadline.IsZero() && !o.deadline.After(now.Add(OverdueSlack)) {
				l.maxOverdue++
			}
		}
	}
	return c
}

// Dial counts an accepted connection.
func (l *Ledger) Dial() {
	l.mu.Lock()
	l.dials++
	l.mu.Unlock()
}

// Snapshot returns all counters as of one instant. Scenario, Seed and UptimeMs are left zero.
func (l *Ledger) Snapshot(now time.Time) Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Snapshot{
		CountedMs: ms(now.Sub(l.since)),
		Received:  l.received, Retries: l.retries, Started: l.started,
		Finished: l.finished, Failed: make(map[string]uint64, len(l.failed)), Abandoned: l.abandoned,
		Inflight: len(l.open), MaxInflight: l.max, MaxInflightOverdue: l.maxOverdue,
		Dials: l.dials,
	}
	for kind, n := range l.failed {
		s.Failed[string(kind)] = n
	}
	busy, residual := l.busy, l.residual
	for _, c := range l.open {
		b, r := c.work(now)
		busy += b
		residual += r
	}
	s.BusyMs, s.ResidualMs = ms(busy), ms(residual)
	return s
}

// N returns the call's number in order of arrival in its ledger, from 1.
func (c *Call) N() uint64 { return c.n }

// Start counts the call as started: from now on the server is busy with it. Only the first Start counts.
func (c *Call) Start(now time.Time) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if c.slot >= 0 && c.start.IsZero() {
		c.start = now
		c.ledger.started++
	}
}

// Gone notes that the client was seen to be gone. The call stays in flight; only the first Gone counts.
func (c *Call) Gone(now time.Time) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if c.gone.IsZero() {
		c.gone = now
	}
}

// End takes the call out of flight and books its outcome and its work. Only the first End counts.
func (c *Call) End(now time.Time, o Outcome) {
	l := c.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.slot < 0 {
		return
	}
	if o == Abandoned && c.gone.IsZero() {
		c.gone = now
	}
	busy, residual := c.work(now)
	l.busy += busy
	l.residual += residual
	switch o {
	case Finished:
		l.finished++
	case Abandoned:
		l.abandoned++
	default:
		l.failed[o]++
	}
	last := len(l.open) - 1
	l.open[c.slot] = l.open[last]
	l.open[c.slot].slot = c.slot
	l.open[last] = nil
	l.open = l.open[:last]
	c.slot = -1
}

// work returns how long the call has been served by now, and for how much of it the caller had given
// up. The ledger's lock is held.
func (c *Call) work(now time.Time) (busy, residual time.Duration) {
	if c.start.IsZero() {
		return 0, 0
	}
	// Clocks are read before the lock is taken, so now may lie a little before the start.
	busy = max(0, now.Sub(c.start))
	up := c.deadline
	if up.IsZero() || !c.gone.IsZero() && c.gone.Before(up) {
		up = c.gone
	}
	if up.IsZero() {
		return busy, 0
	}
	return busy, min(busy, max(0, now.Sub(up)))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
