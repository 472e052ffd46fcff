package theory

import (
	"fmt"
	"slices"
	"time"
)

// Policy is the part of a retry policy that the formulas look at.
type Policy struct {
	// Guards are the policy's guards by name, outermost first, as in
	// ["retry", "timeout"]. None at all means that nothing is known of the
	// policy, which is outside the model.
	Guards []string
	// MaxAttempts is the most attempts of a request, the first included. It is
	// read only if Guards holds "retry"; without one a request makes 1 attempt.
	MaxAttempts int
	// AttemptTimeout is the timeout of each attempt; 0 means none.
	AttemptTimeout time.Duration
	// Budget says that a retry budget may refuse retries.
	Budget bool
}

// Prediction is what the model of independent failures gives for one run. The
// three expectations are either all numbers or all outside the model for the
// same reason.
type Prediction struct {
	// Attempts is the most attempts n of a request; 0 outside the model.
	Attempts int
	// Failure is the probability p that one attempt fails.
	Failure Expectation
	// Success is the share of requests that succeed, in [0, 1].
	Success Expectation
	// Amplification is the calls per request, in [1, n].
	Amplification Expectation
}

// Expect predicts a run of the policy in the scenario by [FailureProbability],
// [Success] and [Amplification]. callers is how many callers ask at once; 0 or
// less if that is not known.
//
// Preconditions beyond those of the three: the policy retries every failure that
// the scenario causes; nothing but the attempts' outcomes decides whether to
// call. So a breaker, bulkhead, rate limit, throttle, hedge or budget, or a
// timeout around the retry, is outside the model. So are retries in
// latency-tail-spike with fewer callers than calls between two spikes: a retry
// then follows its own spike too closely to meet one independently.
func Expect(p Policy, s Scenario, callers int) Prediction {
	n, reason := p.attempts()
	if reason != "" {
		return outside(reason)
	}
	failure := FailureProbability(s, p.AttemptTimeout)
	f, ok := failure.Value()
	if !ok {
		return outside(failure.Reason())
	}
	if s.Name == "latency-tail-spike" && n > 1 && f > 0 && f < 1 && callers > 0 && float64(callers) < s.Params["every"] {
		return outside(fmt.Sprintf("with %d callers and a spike every %v calls a retry is not independent of its first attempt",
			callers, s.Params["every"]))
	}
	return Prediction{
		Attempts:      n,
		Failure:       failure,
		Success:       Expected(Success(f, n)),
		Amplification: Expected(Amplification(f, n)),
	}
}

func outside(reason string) Prediction {
	e := OutsideModel(reason)
	return Prediction{Failure: e, Success: e, Amplification: e}
}

// attempts returns the most attempts of a request, or why the model does not
// cover the policy.
func (p Policy) attempts() (n int, reason string) {
	if len(p.Guards) == 0 {
		return 0, "the policy's guards are not known"
	}
	for i, guard := range p.Guards {
		switch guard {
		case "fallback": // its answers are degraded, never successes
		case "retry":
			if slices.Contains(p.Guards[:i], "retry") {
				return 0, "a retry inside of a retry"
			}
		case "timeout":
			if slices.Contains(p.Guards[i:], "retry") {
				return 0, "the timeout around the retry may end a request early"
			}
		case "breaker", "bulkhead", "rateLimit", "throttle":
			return 0, "the " + guard + " decides by its state"
		case "hedge":
			return 0, "the hedge calls by elapsed time"
		case "budget":
			return 0, "the retry budget decides by its state"
		default:
			return 0, fmt.Sprintf("no closed form for the guard %q", guard)
		}
	}
	if p.Budget {
		return 0, "the retry budget decides by its state"
	}
	if !slices.Contains(p.Guards, "retry") {
		return 1, ""
	}
	if p.MaxAttempts < 1 {
		return 0, "the policy's most attempts are not known"
	}
	return p.MaxAttempts, ""
}
