package compare

import (
	"math"
	"slices"
)

// Stat is a figure over the repetitions of a run. The zero Stat is missing.
type Stat struct {
	// Value is the median over the repetitions that have the figure.
	Value float64
	// Low and High are the least and the greatest of them.
	Low, High float64
	// N is how many have it; 0 if it is missing.
	N int
}

// Known reports whether there is a figure at all.
func (s Stat) Known() bool { return s.N > 0 }

// statOf sorts the values.
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
	return Stat{Value: median, Low: values[0], High: values[n-1], N: n}
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
