package compare

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence is the level of [Stat.Interval].
const Confidence = .95

// Stat is a figure over the repetitions of a run. The zero Stat is missing.
type Stat struct {
	// Value is the median over the repetitions that have the figure.
	Value float64
	// Low and High are the least and the greatest of them.
	Low, High float64
	// N is how many have it; 0 if it is missing.
	N int
	// Values are the figures themselves in ascending order, finite all.
	Values []float64
}

// Known reports whether there is a figure at all.
func (s Stat) Known() bool { return s.N > 0 }

// Interval returns the interval that holds the true median at the level
// [Confidence] whatever the figures' distribution, and whether the repetitions
// are enough for one: that takes 6.
//
// Source: order statistics bound the median with the probabilities of a binomial
// distribution (David and Nagaraja, Order Statistics, 7.1), as benchstat prints it.
func (s Stat) Interval() (low, high float64, ok bool) {
	if s.N == 0 {
		return 0, 0, false
	}
	i := benchmath.AssumeNothing.Summary(sample(s.Values), Confidence)
	if math.IsInf(i.Lo, 0) || math.IsInf(i.Hi, 0) {
		return 0, 0, false
	}
	return i.Lo, i.Hi, true
}

// statOf sorts the values, and keeps them.
func statOf(values []float64) Stat {
	n := len(values)
	if n == 0 {
		return Stat{}
	}
	slices.Sort(values)
	median := values[n/2]
	if n%2 == 0 {
		median = values[n/2-1]/2 + values[n/2]/2
	}
	return Stat{Value: median, Low: values[0], High: values[n-1], N: n, Values: values}
}

func sample(values []float64) *benchmath.Sample {
	thresholds := benchmath.DefaultThresholds
	return benchmath.NewSample(slices.Clone(values), &thresholds)
}

// ratio is a/b, known if both are and the result is finite.
func ratio(a float64, okA bool, b float64, okB bool) (float64, bool) {
	q := a / b
	if !okA || !okB || math.IsInf(q, 0) || math.IsNaN(q) {
		return 0, false
	}
	return q, true
}

// minus is a−b, known if both are.
func minus(a float64, okA bool, b float64, okB bool) (float64, bool) {
	if !okA || !okB {
		return 0, false
	}
	return a - b, true
}
