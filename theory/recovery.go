package theory

import (
	"fmt"
	"math"
	"time"
)

// Dip is a server of finite capacity that is slow for a while, under a load that
// keeps coming.
type Dip struct {
	// Capacity is how many calls it answers per second when it is well; above 0.
	Capacity float64
	// Room is how many calls it holds at most, those in its queue and those being
	// served; one more is refused at once.
	Room float64
	// Factor is its speed in the dip as a share of the full one, in [0, 1].
	Factor float64
	// Length is how long the dip lasts.
	Length time.Duration
	// Load is how many requests begin per second, whatever becomes of those before.
	Load float64
	// Attempts is how many calls a request makes while all of them fail; at least 1.
	Attempts float64
	// Timeout is when a caller gives a call up; above 0.
	Timeout time.Duration
	// Service is how long a call is served where the server is well. Only
	// [ExpectRecovery] asks for it.
	Service time.Duration
}

// Backlog returns how many calls the server holds at the end of the dip:
// (Load·Attempts − Factor·Capacity)·Length, at least 0 and at most Room.
//
// Preconditions: those of [Dip.Recovery]. All attempts of the dip fail, so that
// each request makes all of them; those of its first moments do not, by which the
// backlog is too great.
//
// Source: conservation of calls, of which as many come in as are served or wait.
func (d Dip) Backlog() float64 {
	return min(max((d.Load*d.Attempts-d.Factor*d.Capacity)*d.Length.Seconds(), 0), d.Room)
}

// failsFrom returns how long after the dip's begin calls come that wait for longer
// than the timeout: at once where being served takes that long already, and else as
// soon as the first attempts alone have filled the queue with a timeout's work, which
// takes a Load above what the server can do in the dip.
func (d Dip) failsFrom() time.Duration {
	slow := d.Factor * d.Capacity
	if d.Service > time.Duration(d.Factor*float64(d.Timeout)) {
		return 0
	}
	return time.Duration(slow * float64(d.Timeout) / (d.Load - slow))
}

// Recovery returns the time from the end of the dip until calls are answered in
// time again, in seconds: (B−C·T)/(C−Attempts·Load) for the backlog B, the capacity
// C and the timeout T; 0 where B ≤ C·T. It is +Inf where Attempts·Load ≥ C and
// B > C·T: the calls of those who gave up keep the server from the others for ever,
// though nothing ails it any more. It is NaN where Load is not below C: the server
// was never well.
//
// Preconditions: an open loop; calls are served in the order in which they came; a
// call whose caller has left is served like any other; every attempt is given up at
// the timeout and followed by the next at once or after a wait that changes nothing.
//
// Source: while the backlog is above C·T a call that comes waits longer than T, so
// that none succeeds, calls come at Attempts·Load and the backlog shrinks by the rest
// of the capacity.
func (d Dip) Recovery() float64 {
	if !(d.Capacity > 0 && d.Timeout > 0 && d.Attempts >= 1 && d.Load < d.Capacity) {
		return math.NaN()
	}
	late := d.Backlog() - d.Capacity*d.Timeout.Seconds()
	spare := d.Capacity - d.Attempts*d.Load
	switch {
	case late <= 0:
		return 0
	case spare <= 0:
		return math.Inf(1)
	}
	return late / spare
}

// ExpectRecovery predicts by [Dip.Recovery] how long the server of a brownout needs
// after it. Load is the rate of an open loop in requests per second; 0 or less if
// the loop was closed, or that is not known. Stays says that it never recovers: there
// is no number then, and the reason is why.
//
// Outside the model is besides whatever [Expect] cannot say the attempts of: they
// may then be fewer when the server is down.
func ExpectRecovery(p Policy, s Scenario, load float64) (e Expectation, stays bool) {
	d, reason := dipOf(p, s, load)
	if reason != "" {
		return OutsideModel(reason), false
	}
	switch seconds := d.Recovery(); {
	case math.IsNaN(seconds):
		return OutsideModel(fmt.Sprintf("the load of %.4g calls per second was never below the capacity of %.4g", d.Load, d.Capacity)), false
	case math.IsInf(seconds, 1):
		return OutsideModel(fmt.Sprintf("%.4g calls per second come in while all attempts fail, for a capacity of %.4g", d.Load*d.Attempts, d.Capacity)), true
	default:
		return Expected(seconds), false
	}
}

// dipOf is the dip of a policy in a scenario, or why there is no formula for it.
func dipOf(p Policy, s Scenario, load float64) (d Dip, reason string) {
	if s.Name != "brownout" {
		return Dip{}, fmt.Sprintf("no closed form for the recovery from the scenario %q", s.Name)
	}
	attempts, reason := p.attempts()
	if reason != "" {
		return Dip{}, reason
	}
	var missing error
	value := func(name string) float64 {
		v, err := s.param(name, 0, math.MaxFloat64)
		if missing == nil {
			missing = err
		}
		return v
	}
	servers, service := value("servers"), value("service_ms")/1000
	from, until, back := value("from_ms"), value("until_ms"), value("recovery_ms")
	d = Dip{
		Capacity: servers / service, Room: servers + value("queue"), Factor: value("factor"),
		Length: time.Duration((until - from) * float64(time.Millisecond)),
		Load:   load, Attempts: float64(attempts), Timeout: p.AttemptTimeout,
		Service: time.Duration(service * float64(time.Second)),
	}
	switch {
	case missing != nil:
		return Dip{}, missing.Error()
	case load <= 0:
		return Dip{}, "the load was no open one of a known rate"
	case s.Cancellation != "ignore":
		return Dip{}, "the server may drop the calls of callers that have left"
	case p.AttemptTimeout <= 0:
		return Dip{}, "nobody gives up, so that nothing is sent again and what is answered late is answered"
	case p.AttemptTimeout.Seconds() <= service:
		return Dip{}, "no attempt succeeds even where the server is well"
	case load <= d.Factor*d.Capacity && service <= d.Factor*p.AttemptTimeout.Seconds():
		return Dip{}, "the server bears the load in the dip, too"
	case until <= from:
		return Dip{}, "the dip does not end"
	case d.Length < d.failsFrom()+d.Timeout:
		return Dip{}, "the dip is too short or too shallow for all attempts to fail in it"
	case back > 0:
		return Dip{}, "the speed comes back bit by bit"
	}
	return d, ""
}
