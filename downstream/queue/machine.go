// Package queue is a finite number of servers with a queue before them.
//
// [Machine] is the pure state machine: it takes the time as an argument and holds no clock, so a test or
// a simulator can drive it. [Runner] gives it the clock and lets goroutines wait in it.
package queue

import (
	"math"
	"time"
)

// Config is the shape of a queue.
type Config struct {
	// Servers is how many calls are served at once; at least 1.
	Servers int
	// Limit is how many calls may wait; 0: none, so that a call is served at once or not at all.
	Limit int
	// Discipline says who is next; [FIFO] by default.
	Discipline Discipline
	// Target and Interval are CoDel's: a wait beyond Target is tolerated for Interval.
	Target, Interval time.Duration
	// Service is what [Deadline] takes for the time that serving a call needs.
	Service time.Duration
	// RejectCost is how much of a server's time each call takes that finds the queue full. The server
	// that is free next spends it before it serves.
	RejectCost time.Duration
}

// State is where a Ticket is.
type State int

// The states of a Ticket.
const (
	Idle    State = iota // in no queue: not arrived, or left; the zero value
	Waiting              // in the queue
	Serving              // given a server, until [Machine.Free]
	Full                 // turned away on arrival: the queue was full
	Shed                 // turned away at its turn, by the discipline
	Gone                 // dropped at its turn: its client had gone
)

// Ticket is one call in the queue. It belongs to one Machine at a time, from Arrive on.
type Ticket struct {
	// Deadline is when the caller stops waiting; zero: unknown.
	Deadline time.Time
	// Gone reports whether the client has gone; asked when the ticket's turn comes, and a call whose
	// client has gone is dropped. nil: nobody asks.
	Gone func() bool

	arrived    time.Time
	state      State
	cost       time.Duration
	prev, next *Ticket
	ready      chan struct{} // used by Runner: closed when the ticket stops waiting
}

// State returns where the ticket is. It must not be called while a Runner has the ticket waiting.
func (t *Ticket) State() State { return t.state }

// Cost returns for how long the ticket's server is still busy with rejections before it serves, once
// Serving.
func (t *Ticket) Cost() time.Duration { return t.cost }

// Machine is a queue with its servers. Make one with [New]. It is not safe for concurrent use.
//
// The caller keeps the loop: after every Arrive and Free it asks Next until that returns nil.
type Machine struct {
	cfg     Config
	free    int
	waiting int
	head    *Ticket // oldest
	tail    *Ticket // youngest
	debt    time.Duration
	codel   codel
}

// New returns an empty Machine. Fewer than 1 server counts as 1, a negative limit as 0.
func New(cfg Config) *Machine {
	cfg.Servers, cfg.Limit = max(1, cfg.Servers), max(0, cfg.Limit)
	return &Machine{cfg: cfg, free: cfg.Servers}
}

// Busy returns how many servers have a call.
func (m *Machine) Busy() int { return m.cfg.Servers - m.free }

// Waiting returns how many calls wait.
func (m *Machine) Waiting() int { return m.waiting }

// Arrive puts a ticket into the queue, as Waiting, or turns it away, as Full, if all servers are busy or
// spoken for and Limit calls wait already.
func (m *Machine) Arrive(now time.Time, t *Ticket) State {
	if m.waiting-m.free >= m.cfg.Limit {
		m.debt += m.cfg.RejectCost
		t.state = Full
		return Full
	}
	t.arrived, t.state, t.prev, t.next = now, Waiting, m.tail, nil
	if m.tail == nil {
		m.head = t
	} else {
		m.tail.next = t
	}
	m.tail = t
	m.waiting++
	return Waiting
}

// Next takes the next ticket out of the queue: Serving, with one of the free servers, or Shed or Gone.
// It returns nil if nobody waits or no server is free.
func (m *Machine) Next(now time.Time) *Ticket {
	if m.free == 0 || m.waiting == 0 {
		return nil
	}
	t := m.head
	if m.cfg.Discipline == LIFO {
		t = m.tail
	}
	m.unlink(t)
	switch {
	case t.Gone != nil && t.Gone():
		t.state = Gone
	case m.sheds(now, t):
		t.state = Shed
	default:
		t.state = Serving
		t.cost, m.debt = m.debt, 0
		m.free--
	}
	return t
}

func (m *Machine) sheds(now time.Time, t *Ticket) bool {
	switch m.cfg.Discipline {
	case CoDel:
		return m.codel.sheds(now, now.Sub(t.arrived), m.waiting == 0, m.cfg.Target, m.cfg.Interval)
	case Deadline:
		return !t.Deadline.IsZero() && now.Add(m.cfg.Service).After(t.Deadline)
	}
	return false
}

// Free gives back the server of a ticket that is Serving. Of any other ticket it does nothing.
func (m *Machine) Free(t *Ticket) {
	if t.state == Serving {
		t.state = Idle
		m.free++
	}
}

// Leave takes a ticket that is Waiting out of the queue. Of any other ticket it does nothing.
func (m *Machine) Leave(t *Ticket) {
	if t.state == Waiting {
		m.unlink(t)
		t.state = Idle
	}
}

func (m *Machine) unlink(t *Ticket) {
	if t.prev == nil {
		m.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		m.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
	m.waiting--
}

// codel is the control law of RFC 8289, section 5, for calls in place of packets.
type codel struct {
	above    time.Time // when waits will have been above target for an interval; zero: they are not
	dropping bool
	next     time.Time // when to shed next, while dropping
	count    int       // shed since dropping began
	last     int       // count when dropping began the time before
}

// sheds decides about the call at the head, which has waited that long; empty says that nobody waits
// behind it.
func (c *codel) sheds(now time.Time, wait time.Duration, empty bool, target, interval time.Duration) bool {
	long := false
	switch {
	case wait < target || empty:
		c.above = time.Time{}
	case c.above.IsZero():
		c.above = now.Add(interval)
	default:
		long = !now.Before(c.above)
	}
	if !long {
		c.dropping = false
		return false
	}
	if c.dropping {
		if now.Before(c.next) {
			return false
		}
		c.count++
		c.next = after(c.next, interval, c.count)
		return true
	}
	c.dropping = true
	// If it dropped lately, it goes on at about the rate it had reached.
	if delta := c.count - c.last; delta > 1 && now.Sub(c.next) < 16*interval {
		c.count = delta
	} else {
		c.count = 1
	}
	c.last = c.count
	c.next = after(now, interval, c.count)
	return true
}

func after(t time.Time, interval time.Duration, count int) time.Time {
	return t.Add(time.Duration(float64(interval) / math.Sqrt(float64(count))))
}
