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
type Bulkhead struct {
	mu       sync.Mutex
	max      int
	maxQueue int
	used     int
	queue    list.List // of *Ticket; not empty only while used == max
}

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
	return &Bulkhead{max: c.MaxConcurrent, maxQueue: c.MaxQueue}, nil
}

// TryAcquire takes a permit if there is one. Each must be given back once by
// [Bulkhead.Release].
func (b *Bulkhead) TryAcquire() bool {
	b.mu.Lock()
	ok := b.used < b.max
	if ok {
		b.used++
	}
	b.mu.Unlock()
	return ok
}

// Join takes a place at the end of the queue; where a permit is free the
// ticket has it at once. Nil: the queue is full. Whoever holds a ticket must
// either see it ready and give the permit back, or [Bulkhead.Leave].
func (b *Bulkhead) Join() *Ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &Ticket{ready: make(chan struct{})}
	if b.used < b.max {
		b.used++
		close(t.ready)
		return t
	}
	if b.maxQueue > 0 && b.queue.Len() >= b.maxQueue {
		return nil
	}
	t.element = b.queue.PushBack(t)
	return t
}

// Leave gives up a place in the queue. It returns true where the ticket had
// got its permit in the meantime: then that is the caller's, to be used or
// given back. After false the ticket never gets one.
func (b *Bulkhead) Leave(t *Ticket) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.element == nil {
		return true
	}
	b.queue.Remove(t.element)
	t.element = nil
	return false
}

// Release gives a permit back: to the first in the queue, if there is one. It
// panics where none is out, which is an error of the caller that would let too
// many calls in later.
func (b *Bulkhead) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == 0 {
		panic("bulkhead: release without acquire")
	}
	if first := b.queue.Front(); first != nil {
		t := first.Value.(*Ticket)
		b.queue.Remove(first)
		t.element = nil
		close(t.ready) // the permit changes hands
		return
	}
	b.used--
}

// Available is the number of permits that nobody holds.
func (b *Bulkhead) Available() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.max - b.used
}

// Waiting is the length of the queue.
func (b *Bulkhead) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.Len()
}
