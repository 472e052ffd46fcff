package theory

import (
	"fmt"
	"math"
	"time"
)

// Scenario is a failure mode of the downstream with its parameters, named as a
// lab writes them.
type Scenario struct {
	// Name is one of fixed-delay, random-failures, latency-tail-spike, gray and
	// payments, or brownout for [ExpectRecovery]; any other is outside the model.
	Name string
	// Params holds the parameters by their written names: delay_ms (all of
	// them); failure_rate of random-failures; every (a count ≥ 1) and spike_ms of
	// latency-tail-spike; instances (a count ≥ 1), bad_delay_ms and
	// bad_failure_rate of gray; hang_rate of payments. Rates are shares in [0, 1].
	// Missing ones are outside the model, not 0.
	Params map[string]float64
	// Cancellation is what the server does with a call whose caller has left:
	// ignore, at-dequeue or mid-work. Only [ExpectRecovery] asks for it.
	Cancellation string
}

// FailureProbability returns the probability p that one attempt fails in the
// scenario when its caller gives up after timeout. A timeout of 0 or less means
// that the caller waits for ever.
//
//   - fixed-delay: 1 if delay ≥ timeout, else 0.
//   - random-failures: the failure rate; 1 if delay ≥ timeout.
//   - latency-tail-spike: 1 if delay ≥ timeout; 1/every if spike ≥ timeout >
//     delay; else 0.
//   - gray, one bad instance of N: 1 if delay ≥ timeout; 1/N if the bad one's
//     delay ≥ timeout > delay; else its failure rate / N.
//   - payments: the share that is never answered; 1 if delay ≥ timeout.
//   - progressive-degradation: outside the model, since its failures depend on
//     the calls received so far.
//
// Preconditions: the time an attempt takes is the scenario's delay, so network,
// scheduling and queues take nothing that matters beside timeout − delay. The
// spikes of latency-tail-spike come by count, every n-th call; the calls of many
// callers must interleave for an attempt to meet one independently of the
// attempt before it (see [Expect]).
//
// Source: the definitions of the scenarios.
func FailureProbability(s Scenario, timeout time.Duration) Expectation {
	late := func(ms float64) bool {
		return timeout > 0 && ms >= float64(timeout)/float64(time.Millisecond)
	}
	var p float64
	var err error
	switch s.Name {
	case "fixed-delay":
	case "random-failures":
		p, err = s.param("failure_rate", 0, 1)
	case "latency-tail-spike":
		p, err = s.spike(late)
	case "gray":
		p, err = s.gray(late)
	case "payments":
		p, err = s.param("hang_rate", 0, 1)
	case "progressive-degradation":
		return OutsideModel("failures depend on the load so far")
	case "":
		return OutsideModel("the scenario is not known")
	default:
		return OutsideModel(fmt.Sprintf("no closed form for the scenario %q", s.Name))
	}
	delay, missing := s.param("delay_ms", 0, math.MaxFloat64)
	switch {
	case missing != nil:
		return OutsideModel(missing.Error())
	case err != nil:
		return OutsideModel(err.Error())
	case late(delay):
		return Expected(1)
	}
	return Expected(p)
}

func (s Scenario) spike(late func(ms float64) bool) (float64, error) {
	every, err := s.param("every", 1, math.MaxFloat64)
	if err != nil {
		return 0, err
	}
	spike, err := s.param("spike_ms", 0, math.MaxFloat64)
	if err != nil || !late(spike) {
		return 0, err
	}
	return 1 / every, nil
}

func (s Scenario) gray(late func(ms float64) bool) (float64, error) {
	instances, err := s.param("instances", 1, math.MaxFloat64)
	if err != nil {
		return 0, err
	}
	delay, err := s.param("bad_delay_ms", 0, math.MaxFloat64)
	if err != nil {
		return 0, err
	}
	rate, err := s.param("bad_failure_rate", 0, 1)
	if err != nil {
		return 0, err
	}
	if late(delay) {
		rate = 1
	}
	return rate / instances, nil
}

func (s Scenario) param(name string, low, high float64) (float64, error) {
	v, ok := s.Params[name]
	if !ok {
		return 0, fmt.Errorf("the scenario's %s is not known", name)
	}
	if !(v >= low && v <= high) {
		if high == math.MaxFloat64 {
			return 0, fmt.Errorf("the scenario's %s %v is not at least %v", name, v, low)
		}
		return 0, fmt.Errorf("the scenario's %s %v is not in %v to %v", name, v, low, high)
	}
	return v, nil
}
