package breaker

import (
	"sync"
	"sync/atomic"
	"time"
)

// Breaker is a [Machine] that many goroutines share. It calls nobody: the
// changes of state it makes are returned to the caller that caused them,
// numbered, so that they can be told in order.
type Breaker struct {
	// passing is the generation of the permits that a closed or disabled
	// machine grants: it changes nothing by granting one, so that nobody needs
	// the lock for it. 0: the machine must be asked. Written under the lock.
	passing atomic.Uint64
	// indifferent is the generation in which a success changes nothing, so that
	// nobody needs the lock to give it back: that of a closed machine whose
	// window holds successes alone. 0: the machine must be told. Written under
	// the lock.
	indifferent atomic.Uint64
	slowOver    time.Duration // above: a call is slow. 0: none is
	_           [104]byte     // all callers read these, and should not wait for who writes what follows

	mu sync.Mutex
	m  Machine
}

// New returns a closed breaker. It fails where c is not valid, see
// [Config.Validate].
func New(c Config) (*Breaker, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := &Breaker{m: NewMachine(c), slowOver: c.SlowCall.Over}
	b.publish()
	return b, nil
}

// Acquire asks for a permit to call, at now. Each granted permit must be
// given back once by [Breaker.Done].
func (b *Breaker) Acquire(now time.Time) (Permit, Change, bool) {
	if g := b.passing.Load(); g != 0 {
		return Permit{generation: g}, Change{}, true
	}
	return b.ask(now)
}

// ask is Acquire where the machine may change by it.
func (b *Breaker) ask(now time.Time) (Permit, Change, bool) {
	b.mu.Lock()
	p, change, ok := b.m.Acquire(now)
	b.mu.Unlock()
	return p, change, ok
}

// Done gives a permit back with what came of it. It says whether the result
// counted: the result of a call that began in an earlier state does not.
func (b *Breaker) Done(p Permit, r Result, now time.Time) (bool, Change) {
	if r.Verdict == Success && p.generation != 0 && p.generation == b.indifferent.Load() &&
		(b.slowOver <= 0 || r.Duration <= b.slowOver) {
		return true, Change{}
	}
	return b.tell(p, r, now)
}

// tell is Done where the machine may change by it.
func (b *Breaker) tell(p Permit, r Result, now time.Time) (bool, Change) {
	b.mu.Lock()
	counted, change := b.m.Done(p, r, now)
	b.publish()
	b.mu.Unlock()
	return counted, change
}

// publish tells what can be known without the lock. It stores what is new
// alone: a store makes all who read wait.
func (b *Breaker) publish() {
	if g := b.m.passing(); g != b.passing.Load() {
		b.passing.Store(g)
	}
	if g := b.m.indifferent(); g != b.indifferent.Load() {
		b.indifferent.Store(g)
	}
}

// Force puts the breaker into s, which must be Closed, Open (it stays open
// until forced again) or Disabled (it lets everything through and records
// nothing). Closed starts with an empty window.
func (b *Breaker) Force(s State, now time.Time) Change {
	b.mu.Lock()
	change := b.m.Force(s, now)
	b.publish() // also without a change: the generation is another
	b.mu.Unlock()
	return change
}

// State is the state as of the last Acquire or Done: an open breaker whose
// time has passed stays open until the next call asks.
func (b *Breaker) State() State {
	b.mu.Lock()
	s := b.m.State()
	b.mu.Unlock()
	return s
}

// Counts is what the window holds now.
func (b *Breaker) Counts(now time.Time) Counts {
	b.mu.Lock()
	c := b.m.Counts(now)
	b.mu.Unlock()
	return c
}
