package resilience

import (
	"fmt"
	"strings"
	"time"
)

// Outcome is what came of an attempt. The zero value is OK.
type Outcome uint8

// The outcomes of an attempt, then those of an attempt that a guard refused.
const (
	OK        Outcome = iota
	Timeout           // a timeout guard ended it
	Connect           // no connection was made
	Reset             // the connection broke before the whole answer was there
	HTTP4xx           // the callee refused the request (429 apart)
	HTTP429           // the callee asks for fewer calls
	HTTP5xx           // the callee failed
	Cancelled         // the caller's own context ended
	Thrown            // the call panicked, threw, or failed in a way not named above
	BreakerOpen
	BulkheadFull
	RateLimited
	Throttled

	outcomes // how many there are
)

var outcomeNames = [outcomes]string{
	OK: "ok", Timeout: "timeout", Connect: "connect", Reset: "reset",
	HTTP4xx: "http_4xx", HTTP429: "http_429", HTTP5xx: "http_5xx",
	Cancelled: "cancelled", Thrown: "thrown",
	BreakerOpen: "breaker_open", BulkheadFull: "bulkhead_full",
	RateLimited: "rate_limited", Throttled: "throttled",
}

// String is the outcome's name in metrics and reports.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// Rejected says whether a guard refused to call.
func (o Outcome) Rejected() bool { return o >= BreakerOpen && o < outcomes }

// Outcomes is a set of outcomes. The zero value is the empty set.
type Outcomes uint32

// SetOf returns the set of these outcomes.
func SetOf(members ...Outcome) Outcomes {
	var s Outcomes
	for _, o := range members {
		s |= 1 << o
	}
	return s
}

// Has says whether o is in the set.
func (s Outcomes) Has(o Outcome) bool { return s&(1<<o) != 0 }

// Members lists the set in the order of the constants.
func (s Outcomes) Members() []Outcome {
	var members []Outcome
	for o := range outcomes {
		if s.Has(o) {
			members = append(members, o)
		}
	}
	return members
}

// policyNames are the short names that policy files use beside the outcomes'
// own.
var policyNames = map[string]Outcome{
	"4xx": HTTP4xx, "429": HTTP429, "5xx": HTTP5xx, "throw": Thrown,
}

// ParseOutcome reads an outcome's name: its own, or one of the short forms of
// policy files (4xx, 429, 5xx, throw). OK is not among them: no guard may be
// told to treat it as a failure.
func ParseOutcome(name string) (Outcome, error) {
	if o, ok := policyNames[name]; ok {
		return o, nil
	}
	for o, known := range outcomeNames {
		if name == known && Outcome(o) != OK {
			return Outcome(o), nil
		}
	}
	return OK, fmt.Errorf("%q is none of %s", name, strings.Join(OutcomeNames(), ", "))
}

// OutcomeNames lists what ParseOutcome reads, short forms first.
func OutcomeNames() []string {
	names := []string{"timeout", "connect", "reset", "4xx", "429", "5xx", "cancelled", "throw"}
	for o := BreakerOpen; o < outcomes; o++ {
		names = append(names, o.String())
	}
	return names
}

// Result is what one attempt, or one layer of guards around it, returns. The
// zero value is a success without a value.
type Result struct {
	Outcome Outcome
	// Value is the answer, whatever the outcome; nil where there is none.
	Value any
	// Err is why the outcome is not OK. It is never nil then once a policy
	// has seen the result.
	Err error
	// RetryAfter is how long the callee asked the caller to wait before the
	// next attempt. 0: it did not ask.
	RetryAfter time.Duration
	// Degraded says that Value is a fallback's. Outcome and Err still tell why
	// there was no answer.
	Degraded bool
}
