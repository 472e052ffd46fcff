package breaker

import (
	"errors"
	"fmt"
	"time"
)

// Config says when a breaker opens and how it recovers.
type Config struct {
	Window   Window
	OpenFor  OpenFor
	HalfOpen Probes

	// FailureRate is the share of failures in the window, in (0, 1], from
	// which on the breaker opens. A window of consecutive failures ignores it.
	FailureRate float64

	// MinCalls is how many results the window must hold before its rates
	// mean anything; at least 1. It does not apply in the half-open state,
	// nor to a window of consecutive failures.
	MinCalls int

	// SlowCall opens the breaker on slow answers as well. Zero: it does not.
	SlowCall SlowCall
}

// Window is the memory of a closed breaker. Exactly one field is set.
type Window struct {
	Calls       int           // the last so many results
	Time        time.Duration // the results of the last so long, in ten steps
	Consecutive int           // so many failures in a row, with no success between, open the breaker
}

// SlowCall counts calls that took longer than Over as slow; the breaker opens
// where their share of the window reaches Rate, in (0, 1].
type SlowCall struct {
	Over time.Duration // 0: no call is slow
	Rate float64
}

// OpenFor is how long the breaker stays open: Initial, and Multiplier times
// longer for each time that it re-opens without having closed, up to Max.
type OpenFor struct {
	Initial    time.Duration
	Multiplier float64       // 0 and 1 both mean: always Initial
	Max        time.Duration // 0: no upper limit but a day
}

// Probes is how a half-open breaker tests whether the calls work again.
type Probes struct {
	Calls int // this many successes close it; no more calls than that are let through at a time; at least 1

	// MaxWait is how long a probe may take before its permit is given to
	// another call and its result no longer counts. 0: as long as it takes.
	MaxWait time.Duration
}

// longestOpen bounds an open time that grows without a limit of its own.
const longestOpen = 24 * time.Hour

// Bounds of the two windows that allocate.
const (
	MaxWindowCalls = 1 << 20
	timeSteps      = 10
)

// Validate names everything that is wrong with c, in one joined error.
func (c Config) Validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }

	kinds := 0
	for _, set := range []bool{c.Window.Calls != 0, c.Window.Time != 0, c.Window.Consecutive != 0} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		add("window: give exactly one of calls, time, consecutive")
	case c.Window.Calls < 0 || c.Window.Calls > MaxWindowCalls:
		add("window.calls: %d is not in 1 … %d", c.Window.Calls, MaxWindowCalls)
	case c.Window.Time != 0 && c.Window.Time < timeSteps*time.Millisecond:
		add("window.time: %v is shorter than %v", c.Window.Time, timeSteps*time.Millisecond)
	case c.Window.Consecutive < 0:
		add("window.consecutive: %d is not at least 1", c.Window.Consecutive)
	}
	if c.Window.Consecutive == 0 {
		if !(c.FailureRate > 0 && c.FailureRate <= 1) {
			add("failureRate: %v is not in (0, 1]", c.FailureRate)
		}
		if c.MinCalls < 1 {
			add("minCalls: %d is not at least 1", c.MinCalls)
		}
		if c.Window.Calls > 0 && c.MinCalls > c.Window.Calls {
			add("minCalls: %d is more than window.calls %d holds", c.MinCalls, c.Window.Calls)
		}
	}
	if c.SlowCall.Over < 0 {
		add("slowCall.over: %v is negative", c.SlowCall.Over)
	}
	if c.SlowCall.Over > 0 {
		if c.Window.Consecutive > 0 {
			add("slowCall: a window of consecutive failures holds no rates")
		}
		if !(c.SlowCall.Rate > 0 && c.SlowCall.Rate <= 1) {
			add("slowCall.rate: %v is not in (0, 1]", c.SlowCall.Rate)
		}
	}
	if c.OpenFor.Initial <= 0 {
		add("openFor: %v is not above 0", c.OpenFor.Initial)
	}
	if m := c.OpenFor.Multiplier; m != 0 && !(m >= 1 && m <= 1000) {
		add("openFor.multiplier: %v is not in 1 … 1000", m)
	}
	if c.OpenFor.Max != 0 && c.OpenFor.Max < c.OpenFor.Initial {
		add("openFor.max: %v is shorter than openFor.initial %v", c.OpenFor.Max, c.OpenFor.Initial)
	}
	if c.HalfOpen.Calls < 1 {
		add("halfOpen.calls: %d is not at least 1", c.HalfOpen.Calls)
	}
	if c.HalfOpen.MaxWait < 0 {
		add("halfOpen.maxWait: %v is negative", c.HalfOpen.MaxWait)
	}
	return errors.Join(faults...)
}
