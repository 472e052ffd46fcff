package faults

import (
	"net/http"
	"time"
)

// RandomFailures answers a share of the calls, drawn by seed and call number, with 503. A failing call
// takes as long as a good one.
type RandomFailures struct {
	Delay       time.Duration // default 120 ms
	FailureRate float64       // share of calls that fail, 0 to 1; default 0.35
}

// Name implements [Fault].
func (*RandomFailures) Name() string { return "random-failures" }

// Doc implements [Fault].
func (*RandomFailures) Doc() string {
	return "a random share of the calls, drawn from the seed, fails with 503 after the delay"
}

// Declare implements [Fault].
func (f *RandomFailures) Declare(p *Params) {
	p.Duration(&f.Delay, "delay", 120*time.Millisecond, 0, MaxDelay, "service time of a call, failed or not")
	p.Number(&f.FailureRate, "failureRate", 0.35, 0, 1, "share of calls that fail")
}

// Plan implements [Fault].
func (f *RandomFailures) Plan(c Call) Plan {
	if c.Uniform(StreamFailure) < f.FailureRate {
		return Plan{Delay: f.Delay, Status: http.StatusServiceUnavailable}
	}
	return Plan{Delay: f.Delay}
}
