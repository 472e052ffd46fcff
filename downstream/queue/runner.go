package queue

import (
	"sync"
	"time"
)

// Runner is a [Machine] in which goroutines wait. Make one with [NewRunner]. It is safe for concurrent
// use, starts no goroutine and needs no closing.
type Runner struct {
	stall func(now time.Time) time.Duration

	mu    sync.Mutex
	m     *Machine
	armed bool // a timer for the end of the stall is running
}

// NewRunner returns an empty Runner. stall, if it is not nil, says for how much longer no service begins;
// it is asked with the Runner's lock held, and its answer must depend on the time alone.
func NewRunner(cfg Config, stall func(now time.Time) time.Duration) *Runner {
	return &Runner{stall: stall, m: New(cfg)}
}

// Enter lets a ticket arrive. It returns its state: Serving, and then the caller must give the server
// back with Done; Waiting, and then [Ticket.Ready] tells when that is over, and the caller must either
// see its end with Settled or give up with Done; or another, and then nothing is left to do.
func (r *Runner) Enter(t *Ticket) State {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.m.Arrive(now, t) == Full {
		return Full
	}
	t.ready = make(chan struct{})
	r.dispatch(now)
	return t.state
}

// Ready returns a channel that is closed when the ticket's wait is over.
func (t *Ticket) Ready() <-chan struct{} { return t.ready }

// Settled returns the state of a ticket whose Ready channel is closed.
func (r *Runner) Settled(t *Ticket) State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.state
}

// Done gives back the server of a ticket that is Serving and takes one that is Waiting out of the
// queue. Of any other ticket it does nothing, so it may always be called in the end.
func (r *Runner) Done(t *Ticket) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.m.Free(t)
	r.m.Leave(t)
	r.dispatch(time.Now())
}

// Load returns how many servers have a call, and how many calls wait for one.
func (r *Runner) Load() (busy, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.m.Busy(), r.m.Waiting()
}

func (r *Runner) dispatch(now time.Time) {
	if r.stall != nil && r.m.Waiting() > 0 {
		if left := r.stall(now); left > 0 {
			r.wake(left)
			return
		}
	}
	for t := r.m.Next(now); t != nil; t = r.m.Next(now) {
		close(t.ready)
	}
}

// wake arranges that dispatch is called again when the stall is over.
func (r *Runner) wake(left time.Duration) {
	const forever = 1<<63 - 1
	if r.armed || left == forever {
		return
	}
	r.armed = true
	time.AfterFunc(left, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.armed = false
		r.dispatch(time.Now())
	})
}
