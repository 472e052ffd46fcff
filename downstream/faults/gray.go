package faults

import (
	"net/http"
	"time"
)

// Gray is a service of several instances, of which one is sick but still takes its share of the calls.
// Each call goes to an instance drawn by seed and n, as by a load balancer that looks at nothing.
type Gray struct {
	Instances      int64         // one of them is bad; default 5
	Delay          time.Duration // of a good instance; default 50 ms
	BadDelay       time.Duration // of the bad one; default 1 s
	BadFailureRate float64       // of the bad one, 0 to 1; default 0
}

// Name implements [Fault].
func (*Gray) Name() string { return "gray" }

// Doc implements [Fault].
func (*Gray) Doc() string {
	return "one of several instances is slow, or fails, and is still given calls"
}

// Declare implements [Fault].
func (f *Gray) Declare(p *Params) {
	p.Integer(&f.Instances, "instances", 5, 1, 100_000, "instances, one of which is bad")
	p.Duration(&f.Delay, "delay", 50*time.Millisecond, 0, MaxDelay, "service time of a good instance")
	p.Duration(&f.BadDelay, "badDelay", time.Second, 0, MaxDelay, "service time of the bad instance")
	p.Number(&f.BadFailureRate, "badFailureRate", 0, 0, 1, "share of the bad instance's calls that fail with 503")
}

// Plan implements [Fault].
func (f *Gray) Plan(c Call) Plan {
	if c.Uniform(StreamInstance)*float64(f.Instances) >= 1 {
		return Plan{Delay: f.Delay}
	}
	p := Plan{Delay: f.BadDelay}
	if c.Uniform(StreamFailure) < f.BadFailureRate {
		p.Status = http.StatusServiceUnavailable
	}
	return p
}
