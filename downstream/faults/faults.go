// Package faults holds the ways in which the downstream misbehaves, one a file.
//
// A fault is pure: from the number of a call and the seed of the run it decides the fate of that
// call and nothing else. It holds its parameters, but no clock, no random source and no state that a
// call could change; so the n-th call meets the same fate under every policy and every interleaving,
// and a fault may be asked from any number of goroutines at once.
package faults

import "time"

// A Fault decides what happens to each call. Its parameters are filled once, through the [Params] it
// was declared into; after that it must not change.
type Fault interface {
	// Name is the scenario's name as users write it: lower case, words joined by hyphens.
	Name() string
	// Doc says in one line what the scenario does.
	Doc() string
	// Declare sets every parameter to its default and binds it to its name, range and doc.
	Declare(p *Params)
	// Plan returns the fate of a call. It is a pure function of the call and the parameters.
	Plan(c Call) Plan
}

// Call is what a fault may know of one call.
type Call struct {
	// N is the call's number in order of arrival, from 1. It starts again at 1 after a reset.
	N uint64
	// Seed is the seed of the run. Every value, 0 included, is a seed like any other.
	Seed uint64
}

// Plan is the fate of one call. The zero Plan answers at once and well.
type Plan struct {
	// Delay is the service time: how long the server works before it answers.
	Delay time.Duration
	// Status is the HTTP status of the answer; 0 stands for 200.
	Status int
}

// All returns every fault there is, each a new value with nothing declared yet, in the order in which
// users are shown them. A new fault is a new file in this package and a line here.
func All() []Fault {
	return []Fault{
		new(FixedDelay),
		new(RandomFailures),
		new(ProgressiveDegradation),
		new(LatencyTailSpike),
	}
}

// MaxDelay bounds every duration a fault takes.
const MaxDelay = time.Hour
