package faults

import (
	"net/http"
	"time"
)

// Bursty fails in bursts: the model of Gilbert (1960) and Elliott (1963), a Markov chain over the calls
// with a good and a bad state, each with a failure rate of its own. A failing call is answered with 503
// and takes as long as a good one.
type Bursty struct {
	Delay           time.Duration // default 50 ms
	GoodLength      float64       // mean length of a good spell, in calls, at least 2; default 90
	BadLength       float64       // mean length of a bad spell, in calls, at least 2; default 10
	GoodFailureRate float64       // 0 to 1; default 0.01
	BadFailureRate  float64       // 0 to 1; default 0.9
}

// Name implements [Fault].
func (*Bursty) Name() string { return "bursty" }

// Doc implements [Fault].
func (*Bursty) Doc() string {
	return "failures come in bursts: good and bad spells of calls (Gilbert-Elliott)"
}

// Declare implements [Fault].
func (f *Bursty) Declare(p *Params) {
	p.Duration(&f.Delay, "delay", 50*time.Millisecond, 0, MaxDelay, "service time of a call, failed or not")
	p.Number(&f.GoodLength, "goodLength", 90, 2, 10_000, "mean length of a good spell, in calls")
	p.Number(&f.BadLength, "badLength", 10, 2, 10_000, "mean length of a bad spell, in calls")
	p.Number(&f.GoodFailureRate, "goodFailureRate", 0.01, 0, 1, "share of calls that fail in a good spell")
	p.Number(&f.BadFailureRate, "badFailureRate", 0.9, 0, 1, "share of calls that fail in a bad spell")
}

// Bad reports whether a call falls into a bad spell. Before the first call the chain has run for ever,
// so call 1 is as likely to be in a bad spell as any other.
func (f *Bursty) Bad(c Call) bool {
	// One draw moves the chain from either state: below 1/good it makes the state bad, whatever it was,
	// from 1-1/bad on it makes it good, and in between it leaves it. So the state at n is what the last
	// decisive draw made it, and no memory is needed. Both lengths are at least 2, so the two ranges do
	// not overlap.
	toBad, toGood := 1/f.GoodLength, 1-1/f.BadLength
	for {
		switch u := c.Uniform(StreamBurst); {
		case u < toBad:
			return true
		case u >= toGood:
			return false
		}
		c.N-- // before call 1 it wraps around, to draws that no call uses
	}
}

// Plan implements [Fault].
func (f *Bursty) Plan(c Call) Plan {
	rate := f.GoodFailureRate
	if f.Bad(c) {
		rate = f.BadFailureRate
	}
	if c.Uniform(StreamFailure) < rate {
		return Plan{Delay: f.Delay, Status: http.StatusServiceUnavailable}
	}
	return Plan{Delay: f.Delay}
}
