package faults

import (
	"fmt"
	"time"
)

// ProgressiveDegradation answers well, but slower with every call received: the n-th call, counted
// from 1, takes min(Max, Base + Step·n). It can heal: from then on every call takes Base.
type ProgressiveDegradation struct {
	Base time.Duration // default 80 ms
	Step time.Duration // default 3 ms
	Max  time.Duration // at least Base; default 900 ms

	HealAfter      time.Duration // age of the scenario at which it is healed; 0, the default: never
	HealAfterCalls int64         // number of the last call before it is healed; 0, the default: never
}

// Name implements [Fault].
func (*ProgressiveDegradation) Name() string { return "progressive-degradation" }

// Doc implements [Fault].
func (*ProgressiveDegradation) Doc() string {
	return "the n-th call received takes base + step·n, up to max, until it heals"
}

// Declare implements [Fault].
func (f *ProgressiveDegradation) Declare(p *Params) {
	p.Duration(&f.Base, "base", 80*time.Millisecond, 0, MaxDelay, "service time before the first step")
	p.Duration(&f.Step, "step", 3*time.Millisecond, 0, MaxDelay, "service time added by each call received")
	p.Duration(&f.Max, "max", 900*time.Millisecond, 0, MaxDelay, "service time that is never exceeded")
	p.Duration(&f.HealAfter, "healAfter", 0, 0, MaxDelay, "age of the scenario from which calls take base again; 0: never")
	p.Integer(&f.HealAfterCalls, "healAfterCalls", 0, 0, 1_000_000_000, "calls after which calls take base again; 0: never")
	p.Check("max", func() error {
		if f.Max < f.Base {
			return fmt.Errorf("%q is below base %q", DurationText(f.Max), DurationText(f.Base))
		}
		return nil
	})
}

// Plan implements [Fault].
func (f *ProgressiveDegradation) Plan(c Call) Plan {
	if f.HealAfter > 0 && c.At >= f.HealAfter || f.HealAfterCalls > 0 && c.N > uint64(f.HealAfterCalls) {
		return Plan{Delay: f.Base}
	}
	// Divided instead of multiplied, so that no call number overflows.
	if f.Step > 0 && c.N > uint64((f.Max-f.Base)/f.Step) {
		return Plan{Delay: f.Max}
	}
	return Plan{Delay: f.Base + f.Step*time.Duration(c.N)}
}
