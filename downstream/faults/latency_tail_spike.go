package faults

import "time"

// LatencyTailSpike answers well, but every Every-th call takes Spike instead of Delay.
type LatencyTailSpike struct {
	Delay time.Duration // default 90 ms
	Every int64         // calls whose number it divides are spiked, 0: none; default 6
	Spike time.Duration // the whole service time of a spiked call; default 650 ms
}

// Name implements [Fault].
func (*LatencyTailSpike) Name() string { return "latency-tail-spike" }

// Doc implements [Fault].
func (*LatencyTailSpike) Doc() string {
	return "every n-th call takes the spike instead of the delay"
}

// Declare implements [Fault].
func (f *LatencyTailSpike) Declare(p *Params) {
	p.Duration(&f.Delay, "delay", 90*time.Millisecond, 0, MaxDelay, "service time of an ordinary call")
	p.Integer(&f.Every, "every", 6, 1, 1_000_000_000, "which calls are spiked: those whose number it divides")
	p.Duration(&f.Spike, "spike", 650*time.Millisecond, 0, MaxDelay, "whole service time of a spiked call")
}

// Plan implements [Fault].
func (f *LatencyTailSpike) Plan(c Call) Plan {
	if f.Every > 0 && c.N%uint64(f.Every) == 0 {
		return Plan{Delay: f.Spike}
	}
	return Plan{Delay: f.Delay}
}
