// Package faults holds the ways in which the downstream misbehaves, one a file.
//
// A fault is pure: from the number of a call, the seed of the run and, where the fault is about time, the
// age of the scenario it decides the fate of that call and nothing else. It holds its parameters, but no
// clock and no random source; so the n-th call meets the same fate under every policy and every
// interleaving, and a fault may be asked from any number of goroutines at once. What a fault draws is
// always a function of seed and n. Three things are not, and say so: how long a call waits in a queue
// depends on the load, a token bucket on when calls come, a cache on what was answered before.
//
// A fault takes part in up to three stages of the pipeline: admission ([Admitter]), the queue
// ([Queuer], [Staller]) and, all of them, service and answer ([Fault.Plan]).
package faults

import (
	"time"

	"github.com/retrylab/retrylab/downstream/queue"
)

// A Fault decides what happens to each call. Its parameters are filled once, through the [Params] it
// was declared into; after that it must not change.
type Fault interface {
	// Name is the scenario's name as users write it: lower case, words joined by hyphens.
	Name() string
	// Doc says in one line what the scenario does.
	Doc() string
	// Declare sets every parameter to its default and binds it to its name, range and doc.
	Declare(p *Params)
	// Plan returns the fate of a call. It is asked when service begins, and is a pure function of the
	// call and the parameters, except in a fault that is [Stateful].
	Plan(c Call) Plan
}

// Admitter is a Fault that may turn calls away on arrival, before any queue.
type Admitter interface {
	// Admit is asked once, on arrival. If ok is false the call ends as the plan says.
	Admit(c Call) (p Plan, ok bool)
}

// Queuer is a Fault that has a finite number of servers and a queue before them.
type Queuer interface {
	// Queue returns the shape of the queue; ok is false if the parameters ask for none.
	Queue() (cfg queue.Config, ok bool)
}

// Staller is a Fault during which no service begins, while calls queue.
type Staller interface {
	// Stalled returns for how much longer than at, an age of the scenario, no service begins; 0: it may
	// begin. A stall without end is [Forever].
	Stalled(at time.Duration) time.Duration
}

// Stateful is a Fault whose decisions depend on earlier calls. Its methods are safe for concurrent use.
type Stateful interface {
	// Fresh returns a Fault with the same parameters that has seen no call.
	Fresh() Fault
}

// Watcher is a Fault that is told how calls ended.
type Watcher interface {
	// Ended is told of every call that was served: ok says that it was answered well to a client still
	// there.
	Ended(c Call, ok bool)
}

// Forever is the length of a window that has no end.
const Forever = time.Duration(1<<63 - 1)

// Call is what a fault may know of one call.
type Call struct {
	// N is the call's number in order of arrival, from 1. It starts again at 1 after a reset.
	N uint64
	// Seed is the seed of the run. Every value, 0 included, is a seed like any other.
	Seed uint64
	// At is the age of the scenario: on arrival for [Admitter], when service begins for [Fault.Plan].
	At time.Duration
}

// Plan is the fate of one call. The zero Plan answers at once and well.
type Plan struct {
	// Delay is the service time: how long the server works before it answers.
	Delay time.Duration
	// Status is the HTTP status of the answer; 0 stands for 200.
	Status int
	// End says how the call ends; [Answered] by default.
	End End
	// RetryAfter is announced in the Retry-After header, in whole seconds, rounded up; 0: no header.
	RetryAfter time.Duration
	// Body is the shape of the answer's body; the zero Body is the ordinary short one.
	Body Body
}

// End is how a call ends after its service.
type End int

// The ends of a call.
const (
	Answered  End = iota // with Status and Body; the zero value
	Refused              // the connection is reset before anything is read of the body or done
	Reset                // the connection is reset in place of an answer
	Hung                 // likewise, after a silence that outlasts callers
	Truncated            // the answer announces Body.Bytes bytes, carries Body.Sent, and the connection is closed
)

// Body is the shape of an answer's body.
type Body struct {
	// Bytes is the length of the body; what is below the length of the ordinary answer stands for it.
	Bytes int64
	// Over is the time over which the body is sent, in even steps; 0: at once.
	Over time.Duration
	// Sent is how many bytes come before the connection is closed, if the call ends [Truncated].
	Sent int64
}

// All returns every fault there is, each a new value with nothing declared yet, in the order in which
// users are shown them. A new fault is a new file in this package and a line here.
func All() []Fault {
	return []Fault{
		new(FixedDelay),
		new(RandomFailures),
		new(ProgressiveDegradation),
		new(LatencyTailSpike),
		new(Outage),
		new(Brownout),
		new(Overload),
		new(RateLimited),
		new(Bursty),
		new(Gray),
		new(ColdCache),
		new(SlowBody),
		new(PartialBody),
		new(Payments),
	}
}

// MaxDelay bounds every duration a fault takes.
const MaxDelay = time.Hour
