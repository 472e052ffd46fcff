package faults

import "time"

// Payments leaves a share of the calls, drawn by seed and call number, without any answer: the caller
// cannot tell a payment that was made from one that was not.
type Payments struct {
	Delay    time.Duration // of an answered call; default 120 ms
	HangRate float64       // share of calls that are never answered, 0 to 1; default 0.6
	Hang     time.Duration // how long such a call is held before its connection is reset; default 30 s
}

// Name implements [Fault].
func (*Payments) Name() string { return "payments" }

// Doc implements [Fault].
func (*Payments) Doc() string {
	return "a random share of the calls, drawn from the seed, is never answered"
}

// Declare implements [Fault].
func (f *Payments) Declare(p *Params) {
	p.Duration(&f.Delay, "delay", 120*time.Millisecond, 0, MaxDelay, "service time of a call that is answered")
	p.Number(&f.HangRate, "hangRate", 0.6, 0, 1, "share of calls that are never answered")
	p.Duration(&f.Hang, "hang", 30*time.Second, 0, MaxDelay, "silence before the connection of such a call is reset")
}

// Plan implements [Fault].
func (f *Payments) Plan(c Call) Plan {
	if c.Uniform(StreamHang) < f.HangRate {
		return Plan{Delay: f.Hang, End: Hung}
	}
	return Plan{Delay: f.Delay}
}
