package faults

import (
	"fmt"
	"time"
)

// ProgressiveDegradation answers well, but slower with every call received: the n-th call, counted
// from 1, takes min(Max, Base + Step·n).
type ProgressiveDegradation struct {
	Base time.Duration // default 80 ms
	Step time.Duration // default 3 ms
	Max  time.Duration // at least Base; default 900 ms
}

// Name implements [Fault].
func (*ProgressiveDegradation) Name() string { return "progressive-degradation" }

// Doc implements [Fault].
func (*ProgressiveDegradation) Doc() string {
	return "the n-th call received takes base + step·n, up to max"
}

// Declare implements [Fault].
func (f *ProgressiveDegradation) Declare(p *Params) {
	p.Duration(&f.Base, "base", 80*time.Millisecond, 0, MaxDelay, "service time before the first step")
	p.Duration(&f.Step, "step", 3*time.Millisecond, 0, MaxDelay, "service time added by each call received")
	p.Duration(&f.Max, "max", 900*time.Millisecond, 0, MaxDelay, "service time that is never exceeded")
	p.Check("max", func() error {
		if f.Max < f.Base {
			return fmt.Errorf("%q is below base %q", durationText(f.Max), durationText(f.Base))
		}
		return nil
	})
}

// Plan implements [Fault].
func (f *ProgressiveDegradation) Plan(c Call) Plan {
	// Divided instead of multiplied, so that no call number overflows.
	if f.Step > 0 && c.N > uint64((f.Max-f.Base)/f.Step) {
		return Plan{Delay: f.Max}
	}
	return Plan{Delay: f.Base + f.Step*time.Duration(c.N)}
}
