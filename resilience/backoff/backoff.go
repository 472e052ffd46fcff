// Package backoff computes how long to wait before a retry. It is pure: the
// random number is an argument and nothing sleeps here.
package backoff

import (
	"math"
	"time"
)

// Jitter is how a computed delay d is spread. The zero value spreads nothing.
//
// Full, Equal and Decorrelated are the three of "Exponential Backoff And
// Jitter" (AWS Architecture Blog, 2015).
type Jitter uint8

// The kinds of jitter; U is uniform in [0, 1).
const (
	None         Jitter = iota // d
	Full                       // U·d
	Equal                      // d/2 + U·d/2
	Decorrelated               // initial + U·(3·previous − initial), whatever d is
	Factor                     // d·(1 + f·(2U − 1)), that is d ± f
	Add                        // d·(1 + f·U)
)

// String is the name used in policy files.
func (j Jitter) String() string {
	switch j {
	case None:
		return "none"
	case Full:
		return "full"
	case Equal:
		return "equal"
	case Decorrelated:
		return "decorrelated"
	case Factor:
		return "factor"
	case Add:
		return "add"
	}
	return "unknown"
}

// Schedule is a family of delays: initial·multiplier^(k−1) before the k-th
// retry, never above Max, spread by Jitter.
type Schedule struct {
	Initial    time.Duration // before the first retry; 0 means no wait at all
	Multiplier float64       // growth a retry, at least 1
	Max        time.Duration // greatest delay, before and after jitter
	Jitter     Jitter
	Fraction   float64 // the f of Factor (0 to 1) and Add (at least 0); others ignore it
}

// Delay is the wait before the k-th retry, k from 1. Previous is the delay
// returned for the retry before it (0 for the first), which only Decorrelated
// looks at; u is a random number in [0, 1). For every k, 0 ≤ Delay ≤ Max: what
// would overflow is Max.
func (s Schedule) Delay(k int, previous time.Duration, u float64) time.Duration {
	if s.Initial <= 0 || s.Max <= 0 {
		return 0
	}
	limit := float64(s.Max)
	initial := min(float64(s.Initial), limit)
	if s.Jitter == Decorrelated {
		upper := 3 * max(float64(previous), initial)
		return s.clamp(initial + u*(upper-initial))
	}
	d := initial
	if k > 1 && s.Multiplier > 1 {
		d = min(initial*math.Pow(s.Multiplier, float64(k-1)), limit)
	}
	switch s.Jitter {
	case Full:
		d *= u
	case Equal:
		d = d/2 + u*d/2
	case Factor:
		d *= 1 + s.Fraction*(2*u-1)
	case Add:
		d *= 1 + s.Fraction*u
	}
	return s.clamp(d)
}

// clamp turns d nanoseconds into a duration within 0 and Max.
func (s Schedule) clamp(d float64) time.Duration {
	if d >= float64(s.Max) {
		return s.Max
	}
	return max(time.Duration(d), 0)
}
