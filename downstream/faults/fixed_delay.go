package faults

import "time"

// FixedDelay answers every call well after the same delay.
type FixedDelay struct {
	Delay time.Duration // default 220 ms
}

// Name implements [Fault].
func (*FixedDelay) Name() string { return "fixed-delay" }

// Doc implements [Fault].
func (*FixedDelay) Doc() string { return "every call is answered well after the same delay" }

// Declare implements [Fault].
func (f *FixedDelay) Declare(p *Params) {
	p.Duration(&f.Delay, "delay", 220*time.Millisecond, 0, MaxDelay, "service time of a call")
}

// Plan implements [Fault].
func (f *FixedDelay) Plan(Call) Plan { return Plan{Delay: f.Delay} }
