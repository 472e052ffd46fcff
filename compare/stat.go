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
	// Value is the median over the repetitions that have the figure; 0 where it is
	// not known.
	Value float64
	// Low and High are the least and the greatest of Values.
	Low, High float64
	// N is how many repetitions have it, those of Beyond included; 0 if it is missing.
	N int
	// Values are the figures themselves in ascending order, finite all.
	Values []float64
	// Beyond is in how many repetitions the figure is greater than any that they
	// could have seen, such as the time of a recovery that did not come.
	Beyond int
}

// Known reports whether there is a median: it may be missing, or beyond.
func (s Stat) Known() bool { return s.N/2 < len(s.Values) }

// median is Value, or +Inf where that is beyond; the Stat is not missing.
func (s Stat) median() float64 {
	if !s.Known() {
		return math.Inf(1)
	}
	return s.Value
}

// all are the figures, with +Inf for those beyond.
func (s Stat) all() []float64 {
	return append(slices.Clone(s.Values), slices.Repeat([]float64{math.Inf(1)}, s.Beyond)...)
}

// Interval returns the interval that holds the true median at the level
// [Confidence] whatever the figures' distribution, and whether the repetitions
// are enough for one: that takes 6.
//
// Source: order statistics bound the median with the probabilities of a binomial
// distribution (David and Nagaraja, Order Statistics, 7.1), as benchstat prints it.
func (s Stat) Interval() (low, high float64, ok bool) {
	if !s.Known() {
		return 0, 0, false
	}
	i := benchmath.AssumeNothing.Summary(sample(s.all()), Confidence)
	if math.IsInf(i.Lo, 0) || math.IsInf(i.Hi, 0) {
		return 0, 0, false
	}
	return i.Lo, i.Hi, true
}

// statOf sorts the values, and keeps those that are finite; +Inf is one beyond.
func statOf(values []float64) Stat {
	n := len(values)
	if n == 0 {
		return Stat{}
	}
	slices.Sort(values)
	s := Stat{N: n, Values: values}
	if i := slices.Index(values, math.Inf(1)); i >= 0 {
		s.Values, s.Beyond = values[:i], n-i
	}
	if known := len(s.Values); known > 0 {
		s.Low, s.High = values[0], values[known-1]
	}
	switch {
	case !s.Known():
	case n%2 == 0:
		s.Value = values[n/2-1]/2 + values[n/2]/2
	default:
		s.Value = values[n/2]
	}
	return s
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
