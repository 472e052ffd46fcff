package compare

import (
	"time"

	"github.com/retrylab/retrylab/theory"
)

// Run is one run of a lab as read from its files: one policy in one scenario,
// once.
type Run struct {
	// Lab is the id of the lab, or the name of its folder if no run.json names one.
	Lab string
	// File is the path of the summary, as given or found; "-" for the standard
	// input.
	File string
	// Shape is the form of that file.
	Shape Shape
	// Number is the run's number in its plan; 0 if the file's name has none.
	Number int
	// Name is the plan's name of the run, such as "jitter-fixed-delay".
	Name string
	// Variant tells runs of the same policy and scenario apart; mostly empty.
	Variant string
	// Repetition counts from 1.
	Repetition int
	// Policy and Scenario say what was run. Without a run.json only their names
	// are known, as far as the file's name tells.
	Policy   Policy
	Scenario Scenario
	// Setup says how it was run; nil without a run.json.
	Setup *Setup
	// Metrics are the summary's metrics by name, sub-metrics such as "m{a:b}"
	// included.
	Metrics Metrics
	// Downstream is what the server counted; nil without a run.json that says.
	Downstream Downstream
	// Series is what the server counted by the second; nil if no run.json says.
	Series []Second
	// Tiers are the services that stood between the caller and the server, as a
	// request met them; nil for none.
	Tiers []Tier

	given int // its place among the runs that were read with it
}

// Tier is what a service in front of the server counted.
type Tier struct {
	Policy   string  `json:"policy"`
	Received float64 `json:"received"` // requests of its caller
	Calls    float64 `json:"calls"`    // what it sent to the next
}

// Policy is a named stack of guards.
type Policy struct {
	Name string `json:"name"`
	// MaxAttempts counts the first attempt too; 0 if not known.
	MaxAttempts int `json:"max_attempts"`
	// AttemptTimeoutMS is the timeout of each attempt in milliseconds; 0 for none.
	AttemptTimeoutMS float64 `json:"attempt_timeout_ms"`
	// Guards are outermost first; nil if not known.
	Guards []string `json:"guards"`
	// Budget names the kind of retry budget; empty for none.
	Budget string `json:"budget,omitempty"`
}

// Scenario is a failure mode of the downstream.
type Scenario struct {
	Name   string             `json:"name"`
	Params map[string]float64 `json:"params"`
	// Cancellation is what the server does about a caller that has gone: ignore,
	// at-dequeue or mid-work; empty if not known.
	Cancellation string `json:"cancellation"`
}

// Setup is how a run was made.
type Setup struct {
	// Plan and Mode name the plan of the lab and its size.
	Plan, Mode string
	// Script is the name of the k6 script.
	Script string
	// Seed is the seed of the downstream's faults.
	Seed uint64
	// VUs is the number of callers, each waiting for its answer before it asks
	// again; 0 if the run offered its load in another way.
	VUs int
	// Rate is that of an open loop, in requests per second; 0 if it was none, or if
	// that is not known.
	Rate float64
	// DurationMS is the planned time of the load, in milliseconds.
	DurationMS float64
	// Runner and Machine describe the program and the computer.
	Runner, Machine string
	// StartedAt and EndedAt are zero if not known.
	StartedAt, EndedAt time.Time
	// ExitCode is the runner's: 0, or 99 for a failed threshold.
	ExitCode int
}

// Downstream is what the server counted in one run, by the names of run.json:
// received and abandoned calls; max_inflight, the most calls in flight at once,
// and max_inflight_overdue, how many of these had outlived their caller; busy_ms,
// the time spent on calls, and residual_ms, the part spent after their callers
// gave up, both in milliseconds. What it does not hold is missing.
type Downstream map[string]float64

// maxTimeoutMS is about a century, which a time.Duration holds.
const maxTimeoutMS = 3e12

// expect is what theory says of the run.
func (r Run) expect() theory.Prediction {
	if len(r.Tiers) > 0 {
		outside := theory.OutsideModel("tiers between the caller and the server retry too")
		return theory.Prediction{Failure: outside, Success: outside, Amplification: outside}
	}
	callers := 0
	if r.Setup != nil {
		callers = r.Setup.VUs
	}
	p, s := r.model()
	return theory.Expect(p, s, callers)
}

// model is what theory asks for of the run's policy and scenario.
func (r Run) model() (theory.Policy, theory.Scenario) {
	return theory.Policy{
		Guards:         r.Policy.Guards,
		MaxAttempts:    r.Policy.MaxAttempts,
		AttemptTimeout: time.Duration(min(r.Policy.AttemptTimeoutMS, maxTimeoutMS) * float64(time.Millisecond)),
		Budget:         r.Policy.Budget != "",
	}, theory.Scenario{Name: r.Scenario.Name, Params: r.Scenario.Params, Cancellation: r.Scenario.Cancellation}
}
