package stats

import (
	"sync"
	"time"
)

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
	duplicate  time.Duration
	notice     spread
	linger     spread
	dials      uint64
	serving    int // calls in flight that were started
	requests   requests
	series     series
}

// Call is one call in the books of the Ledger that received it.
type Call struct {
	ledger   *Ledger
	n        uint64
	slot     int       // index in ledger.open; -1 once ended
	deadline time.Time // when the caller's patience runs out; zero: unknown
	start    time.Time // when service began; zero: not yet
	gone     time.Time // when the client was seen to be gone; zero: it is there
	request  *request  // nil: it did not say
}

// spread is a mean and a maximum.
type spread struct {
	count    uint64
	sum, max time.Duration
}

func (s *spread) add(d time.Duration) {
	s.count++
	s.sum += d
	s.max = max(s.max, d)
}

func (s *spread) show() (count uint64, mean, most float64) {
	if s.count == 0 {
		return 0, 0, 0
	}
	return s.count, ms(s.sum) / float64(s.count), ms(s.max)
}

// Arrival is what is known of a call when it arrives. The zero value is a call that says nothing.
type Arrival struct {
	// Patience is how long the caller is going to wait for the answer; 0 or less: unknown.
	Patience time.Duration
	// Retry says that the call announced itself as a second or later attempt.
	Retry bool
	// Request joins the attempts of one request; "": unknown. It is not kept: only a hash of it is.
	Request string
}

// NewLedger returns an empty ledger that counts from now.
func NewLedger(now time.Time) *Ledger {
	return &Ledger{since: now, failed: make(map[Outcome]uint64), series: series{since: now, at: now}}
}

// Receive counts a call as received and in flight. It must be ended with [Call.End].
func (l *Ledger) Receive(now time.Time, a Arrival) *Call {
	c := &Call{ledger: l}
	if a.Patience > 0 {
		c.deadline = now.Add(a.Patience)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.series.advance(now, len(l.open), l.serving)
	l.received++
	c.n = l.received
	l.series.last().Received++
	if a.Request != "" {
		c.request = l.requests.of(a.Request)
	}
	if a.Retry {
		l.retries++
	}
	c.slot = len(l.open)
	l.open = append(l.open, c)
	l.series.last().Inflight = len(l.open)
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
	busy, residual, duplicate := l.busy, l.residual, l.duplicate
	for _, c := range l.open {
		b, r, d := c.work(now)
		busy += b
		residual += r
		duplicate += d
	}
	s.BusyMs, s.ResidualMs, s.DuplicateMs, s.WastedMs = ms(busy), ms(residual), ms(duplicate), ms(residual+duplicate)
	if busy > 0 {
		s.WastedShare = float64(residual+duplicate) / float64(busy)
	}
	s.NoticeCount, s.NoticeMeanMs, s.NoticeMaxMs = l.notice.show()
	s.LingerCount, s.LingerMeanMs, s.LingerMaxMs = l.linger.show()
	l.series.advance(now, len(l.open), l.serving)
	s.Series = l.series.show()
	return s
}

// N returns the call's number in order of arrival in its ledger, from 1.
func (c *Call) N() uint64 { return c.n }

// Start counts the call as started: from now on the server is busy with it. Only the first Start counts.
func (c *Call) Start(now time.Time) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if c.slot >= 0 && c.start.IsZero() {
		c.ledger.series.advance(now, len(c.ledger.open), c.ledger.serving)
		c.start = now
		c.ledger.started++
		c.ledger.serving++
	}
}

// Gone notes that the client was seen to be gone. The call stays in flight; only the first Gone counts.
func (c *Call) Gone(now time.Time) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	c.goneBy(now)
}

// goneBy notes that the client was seen to be gone. The ledger's lock is held.
func (c *Call) goneBy(now time.Time) {
	if !c.gone.IsZero() || c.slot < 0 {
		return
	}
	c.gone = now
	// A client that leaves before that did not leave because its patience ran out: there is no saying
	// when it did.
	if !c.deadline.IsZero() && !c.deadline.After(now.Add(OverdueSlack)) {
		c.ledger.notice.add(max(0, now.Sub(c.deadline)))
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
	l.series.advance(now, len(l.open), l.serving)
	if o == Abandoned {
		c.goneBy(now)
	}
	if !c.gone.IsZero() {
		l.linger.add(max(0, now.Sub(c.gone)))
	}
	busy, residual, duplicate := c.work(now)
	l.busy += busy
	l.residual += residual
	l.duplicate += duplicate
	second := l.series.last()
	switch o {
	case Finished:
		l.finished++
		second.Finished++
		// An answer that comes after the caller's patience ran out wins nothing.
		if c.request != nil && c.gone.IsZero() && (c.deadline.IsZero() || !now.After(c.deadline)) {
			c.request.win(now, c.n)
		}
	case Abandoned:
		l.abandoned++
		second.Abandoned++
	default:
		l.failed[o]++
		second.Failed++
	}
	if !c.start.IsZero() {
		l.serving--
	}
	last := len(l.open) - 1
	l.open[c.slot] = l.open[last]
	l.open[c.slot].slot = c.slot
	l.open[last] = nil
	l.open = l.open[:last]
	c.slot = -1
	second.Inflight = len(l.open)
}

// work returns how long the call has been served by now, for how much of it the caller had given up, and
// for how much, before that, another attempt of its request had won. The ledger's lock is held.
func (c *Call) work(now time.Time) (busy, residual, duplicate time.Duration) {
	if c.start.IsZero() {
		return 0, 0, 0
	}
	// Clocks are read before the lock is taken, so now may lie a little before the start.
	busy = max(0, now.Sub(c.start))
	up := c.deadline
	if up.IsZero() || !c.gone.IsZero() && c.gone.Before(up) {
		up = c.gone
	}
	if !up.IsZero() {
		residual = min(busy, max(0, now.Sub(up)))
	}
	if c.request != nil && c.request.wonBefore(now, c.n) {
		duplicate = max(0, min(busy, now.Sub(c.request.won))-residual)
	}
	return busy, residual, duplicate
}
