package theory

import (
	"fmt"
	"math"
	"time"
)

// Scenario is a failure mode of the downstream with its parameters, named as a
// lab writes them.
type Scenario struct {
	// Name is one of fixed-delay, random-failures, latency-tail-spike and
	// progressive-degradation; any other is outside the model.
	Name string
	// Params holds the parameters by their written names: delay_ms (all of the
	// first three), failure_rate (a share in [0, 1]), every (a count ≥ 1) and
	// spike_ms. Missing ones are outside the model, not 0.
	Params map[string]float64
}

// FailureProbability returns the probability p that one attempt fails in the
// scenario when its caller gives up after timeout. A timeout of 0 or less means
// that the caller waits for ever.
//
//   - fixed-delay: 1 if delay ≥ timeout, else 0.
//   - random-failures: the failure rate; 1 if delay ≥ timeout.
//   - latency-tail-spike: 1 if delay ≥ timeout; 1/every if spike ≥ timeout >
//     delay; else 0.
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
	switch s.Name {
	case "fixed-delay", "random-failures", "latency-tail-spike":
	case "progressive-degradation":
		return OutsideModel("failures depend on the load so far")
	case "":
		return OutsideModel("the scenario is not known")
	default:
		return OutsideModel(fmt.Sprintf("no closed form for the scenario %q", s.Name))
	}
	delay, err := s.param("delay_ms", 0, math.MaxFloat64)
	if err != nil {
		return OutsideModel(err.Error())
	}
	late := func(ms float64) bool {
		return timeout > 0 && ms >= float64(timeout)/float64(time.Millisecond)
	}
	switch s.Name {
	case "random-failures":
		rate, err := s.param("failure_rate", 0, 1)
		if err != nil {
			return OutsideModel(err.Error())
		}
		if !late(delay) {
			return Expected(rate)
		}
	case "latency-tail-spike":
		every, err := s.param("every", 1, math.MaxFloat64)
		if err != nil {
			return OutsideModel(err.Error())
		}
		spike, err := s.param("spike_ms", 0, math.MaxFloat64)
		if err != nil {
			return OutsideModel(err.Error())
		}
		if !late(delay) && late(spike) {
			return Expected(1 / every)
		}
	}
	if late(delay) {
		return Expected(1)
	}
	return Expected(0)
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
