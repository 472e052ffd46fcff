// Package bulkhead bounds how many calls run at once, with a queue of those
// that wait for one to end.
//
// It knows no time: how long somebody waits is the caller's own affair, who
// leaves the queue when he has waited for long enough.
package bulkhead

import (
	"container/list"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Config of a bulkhead.
type Config struct {
	MaxConcurrent int           // calls at once; at least 1
	MaxWait       time.Duration // how long to wait for a permit; 0: a full bulkhead refuses at once
	MaxQueue      int           // how many may wait at once; 0: as many as want to
}

// Validate names everything that is wrong with c, in one joined error.
func (c Config) Validate() error {
	var faults []error
	if c.MaxConcurrent < 1 {
		faults = append(faults, fmt.Errorf("maxConcurrent: %d is not at least 1", c.MaxConcurrent))
	}
	if c.MaxWait < 0 {
		faults = append(faults, fmt.Errorf("maxWait: %v is negative", c.MaxWait))
	}
	if c.MaxQueue < 0 {
		faults = append(faults, fmt.Errorf("maxQueue: %d is negative", c.MaxQueue))
	}
	if c.MaxQueue > 0 && c.MaxWait == 0 {
		faults = append(faults, errors.New("maxQueue: has no meaning without maxWait"))
	}
	return errors.Join(faults...)
}

// Bulkhead hands out a fixed number of permits, first come, first served. It
// may be used by many goroutines at once.
//
// The permits in use are an atomic number, so that a bulkhead without a queue
// is not a lock that its callers wait for. While somebody is in the queue the
// number has the mark queued. The mark is only set while all permits are in
// use, and they stay in use until it is taken away: a release that sees it
// takes the lock and hands its permit on.
type Bulkhead struct {
	used     atomic.Int64 // and the mark queued
	max      int64
	maxQueue int
	mu       sync.Mutex // for the queue, and for setting and taking away the mark
	queue    list.List  // of *Ticket
}

// queued is more than any number of permits.
const queued = 1 << 62

// Ticket is a place in the queue.
type Ticket struct {
	ready   chan struct{}
	element *list.Element // nil once it has a permit, or has left
}

// Ready is closed when the ticket has got a permit.
func (t *Ticket) Ready() <-chan struct{} { return t.ready }

// New returns a bulkhead with all its permits. It fails where c is not valid.
func New(c Config) (*Bulkhead, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Bulkhead{max: int64(c.MaxConcurrent), maxQueue: c.MaxQueue}, nil
}

// TryAcquire takes a permit if there is one. Each must be given back once by
// [Bulkhead.Release].
func (b *Bulkhead) TryAcquire() bool {
	for {
		used := b.used.Load()
		if used >= b.max { // also where it has the mark
			return false
		}
		if b.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
}

// Join takes a place at the end of the queue; where a permit is free the
// ticket has it at once. Nil: the queue is full. Whoever holds a ticket must
// either see it ready and give the permit back, or [Bulkhead.Leave].
func (b *Bulkhead) Join() *Ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &Ticket{ready: make(chan struct{})}
	for {
		if b.TryAcquire() {
			close(t.ready)
			return t
		}
		if b.maxQueue > 0 && b.queue.Len() >= b.maxQueue {
			return nil
		}
		if b.queue.Len() > 0 || b.used.CompareAndSwap(b.max, b.max|queued) {
			t.element = b.queue.PushBack(t)
			return t
		}
	}
}

// Leave gives up a place in the queue. It returns true where the ticket had
// got its permit in the meantime: then that is the caller's, to be used or
// given back. After false the ticket never gets one.
func (b *Bulkhead) Leave(t *Ticket) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.element != nil {
		b.leave(t)
		return false
	}
	select {
	case <-t.ready:
		return true
	default: // it has left before
		return false
	}
}

// leave takes a ticket out of the queue, and the mark away after the last.
func (b *Bulkhead) leave(t *Ticket) {
	b.queue.Remove(t.element)
	t.element = nil
	if b.queue.Len() == 0 {
		b.used.Store(b.max) // nobody else changes it while it has the mark
	}
}

// Release gives a permit back: to the first in the queue, if there is one. It
// panics where none is out, which is an error of the caller that would let too
// many calls in later.
func (b *Bulkhead) Release() {
	for {
		used := b.used.Load()
		switch {
		case used == 0:
			panic("bulkhead: release without acquire")
		case used&queued != 0:
			if b.handOn() {
				return
			}
		case b.used.CompareAndSwap(used, used-1):
			return
		}
	}
}

// handOn gives a permit to the first in the queue. It says whether there was
// one.
func (b *Bulkhead) handOn() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := b.queue.Front()
	if first == nil {
		return false
	}
	t := first.Value.(*Ticket)
	b.leave(t)
	close(t.ready) // the permit changes hands
	return true
}

// Available is the number of permits that nobody holds.
func (b *Bulkhead) Available() int { return int(b.max - b.used.Load()&^queued) }

// Waiting is the length of the queue.
func (b *Bulkhead) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.Len()
}
