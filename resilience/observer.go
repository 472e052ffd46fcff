package resilience

import (
	"sync"
	"time"

	"github.com/retrylab/retrylab/resilience/breaker"
)

// EventKind says what an Event tells.
type EventKind uint8

// The kinds of event, with the fields of Event that they set beside Policy,
// Request, At and Attempt.
const (
	AttemptStarted  EventKind = iota // handed to the transport: AttemptKind, Inflight
	AttemptEnded                     // Outcome, Err, Duration, Capped, Inflight
	Waiting                          // before a retry: Duration, and Outcome and Err of the attempt before
	Rejected                         // a guard refused: Outcome
	BreakerChanged                   // From, To
	BudgetExhausted                  // a retry or hedge was not made: Outcome and Err of the attempt before
	FallbackUsed                     // Outcome and Err of what it stands in for
)

// String is the kind's name.
func (k EventKind) String() string {
	return [...]string{"attempt started", "attempt ended", "waiting", "rejected", "breaker changed", "budget exhausted", "fallback used"}[k]
}

// AttemptKind says why an attempt was made.
type AttemptKind uint8

// The kinds of attempt.
const (
	First AttemptKind = iota
	Retry
	Hedge
)

// String is the kind's name in metrics.
func (k AttemptKind) String() string { return [...]string{"first", "retry", "hedge"}[k] }

// Event is something that happened in a request.
type Event struct {
	Kind        EventKind
	Policy      string
	Request     uint64 // a number that no other request of the policy has, from 1; 0 where nobody's request caused the event
	At          time.Time
	Attempt     int // the attempt's number within its request, from 1
	AttemptKind AttemptKind
	Outcome     Outcome
	Err         error
	Duration    time.Duration
	Capped      bool // Duration was cut short by a timeout guard: the call would have taken longer
	Inflight    int  // the policy's calls in flight, this one included
	From, To    breaker.State
}

// Observer is told what happens, in order: the events of one request one after
// the other, and the changes of one breaker in theirs. No guard's lock is held
// meanwhile, so that it may read any state, and a panic in it changes nothing.
// It is called on a goroutine of the request (for a breaker's change: of any
// request), which waits for it; where that other request is slow to be told of
// changes before, a change may be told after the request that caused it has
// returned.
type Observer interface {
	Observe(Event)
}

// notify tells o of e, whatever o does.
func notify(o Observer, e Event) {
	if o == nil {
		return
	}
	defer func() { _ = recover() }()
	o.Observe(e)
}

// changeQueue tells the changes of one breaker in the order in which they
// happened, whichever goroutine gets here first.
type changeQueue struct {
	mu      sync.Mutex
	told    uint64 // the Seq that was told last
	waiting map[uint64]toldChange
	telling bool
}

type toldChange struct {
	observer Observer
	event    Event
}

// tell delivers the event of the change numbered seq once all before it are.
// Where another goroutine is telling, this one leaves the event to it.
func (q *changeQueue) tell(seq uint64, o Observer, e Event) {
	q.mu.Lock()
	if q.waiting == nil {
		q.waiting = make(map[uint64]toldChange)
	}
	q.waiting[seq] = toldChange{observer: o, event: e}
	if q.telling {
		q.mu.Unlock()
		return
	}
	q.telling = true
	for {
		next, ok := q.waiting[q.told+1]
		if !ok {
			break
		}
		q.told++
		delete(q.waiting, q.told)
		q.mu.Unlock()
		notify(next.observer, next.event)
		q.mu.Lock()
	}
	q.telling = false
	q.mu.Unlock()
}
