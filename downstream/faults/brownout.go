package faults

import (
	"fmt"
	"math"
	"time"

	"github.com/retrylab/retrylab/downstream/queue"
)

// Brownout has the servers and the queue of [Overload], but their speed falls to Factor between From
// and Until, and comes back at once or in a straight line over Recovery. A call's work is fixed; how
// long it takes is worked out from the speed over its whole service, so that a call that is being
// served when the speed changes feels it.
type Brownout struct {
	capacity
	From     time.Duration // age of the scenario at which the dip begins; default 0
	Until    time.Duration // age at which it ends; 0, the default: never
	Factor   float64       // speed in the dip, 0.01 to 1 of the full one; default 0.3
	Recovery time.Duration // how long the way back to full speed takes; default 0
}

// Name implements [Fault].
func (*Brownout) Name() string { return "brownout" }

// Doc implements [Fault].
func (*Brownout) Doc() string {
	return "a finite number of servers whose speed falls to a factor for a while"
}

// Declare implements [Fault].
func (f *Brownout) Declare(p *Params) {
	f.declare(p, "constant")
	p.Duration(&f.From, "from", 0, 0, MaxDelay, "age of the scenario at which the dip begins")
	p.Duration(&f.Until, "until", 0, 0, MaxDelay, "age of the scenario at which the dip ends; 0: never")
	p.Number(&f.Factor, "factor", 0.3, 0.01, 1, "speed in the dip, as a share of the full one")
	p.Duration(&f.Recovery, "recovery", 0, 0, MaxDelay, "time over which the speed rises again, in a straight line")
	p.Check("until", func() error {
		if f.Until > 0 && f.Until <= f.From {
			return fmt.Errorf("%q is not after from %q", DurationText(f.Until), DurationText(f.From))
		}
		return nil
	})
}

// Queue implements [Queuer].
func (f *Brownout) Queue() (queue.Config, bool) {
	return queue.Config{Servers: int(f.Servers), Limit: int(f.QueueLimit), Service: f.Service}, true
}

// Speed returns the share of the full speed at an age of the scenario: the f(t) of capacity × f(t).
func (f *Brownout) Speed(at time.Duration) float64 {
	switch {
	case at < f.From:
		return 1
	case f.Until == 0 || at < f.Until:
		return f.Factor
	case at < f.Until+f.Recovery:
		return f.Factor + (1-f.Factor)*float64(at-f.Until)/float64(f.Recovery)
	}
	return 1
}

// Plan implements [Fault].
func (f *Brownout) Plan(c Call) Plan {
	return Plan{Delay: f.takes(c.At, f.service(c))}
}

// takes returns how long work that takes w at full speed takes from an age on: the d for which the
// integral of the speed over [at, at+d] is w. It is at most [MaxDelay].
func (f *Brownout) takes(at, w time.Duration) time.Duration {
	t, left := float64(at), float64(w)
	from, until := float64(f.From), float64(f.Until)
	if f.Until == 0 {
		until = math.Inf(1)
	}
	risen := until + float64(f.Recovery)
	// Through the parts of constant speed, one after the other, while work is left.
	constant := func(end, speed float64) (done bool) {
		if t >= end {
			return false
		}
		if d := left / speed; t+d <= end {
			t += d
			return true
		}
		left -= (end - t) * speed
		t = end
		return false
	}
	switch {
	case constant(from, 1):
	case constant(until, f.Factor):
	default:
		if t < risen {
			// Work done from t on is v·d + s·d²/2, with the speed v at t and its slope s.
			s := (1 - f.Factor) / (risen - until)
			v := f.Factor + s*(t-until)
			// Written so that it also holds for a slope of 0 and loses no digits for a small one.
			d := 2 * left / (v + math.Sqrt(v*v+2*s*left))
			if t+d <= risen {
				t += d
				break
			}
			left -= (v + 1) / 2 * (risen - t)
			t = risen
		}
		t += left
	}
	return time.Duration(min(math.Round(t-float64(at)), float64(MaxDelay)))
}
