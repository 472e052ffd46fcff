package metrics

import (
	"math"
	"slices"
	"time"
)

// Sink is the aggregate of a metric's samples. Sinks are not safe for
// concurrent use.
type Sink interface {
	// Add takes one sample in. at is in nanoseconds since 1970.
	Add(value float64, at int64)
	// Empty says that no sample was added.
	Empty() bool
}

func newSink(k Kind) Sink {
	switch k {
	case Counter:
		return &CounterSink{}
	case Gauge:
		return &GaugeSink{}
	case Rate:
		return &RateSink{}
	default:
		return &TrendSink{}
	}
}

// CounterSink adds samples up. Its zero value is ready.
type CounterSink struct {
	Count float64
	n     uint64
}

// Add takes one sample in.
func (c *CounterSink) Add(v float64, _ int64) { c.Count += v; c.n++ }

// Empty says that no sample was added.
func (c *CounterSink) Empty() bool { return c.n == 0 }

// Rate is the count for each second of the run, 0 for a run of no length.
func (c *CounterSink) Rate(run time.Duration) float64 {
	if run <= 0 {
		return 0
	}
	return c.Count / run.Seconds()
}

// GaugeSink keeps the latest sample and the extremes. Its zero value is ready.
type GaugeSink struct {
	Value, Min, Max float64
	at              int64
	n               uint64
}

// Add takes one sample in. Samples of several virtual users come out of
// order; the one with the latest time stays.
func (g *GaugeSink) Add(v float64, at int64) {
	if g.n == 0 {
		g.Value, g.Min, g.Max, g.at = v, v, v, at
	}
	g.n++
	if at >= g.at {
		g.Value, g.at = v, at
	}
	g.Min, g.Max = min(g.Min, v), max(g.Max, v)
}

// Empty says that no sample was added.
func (g *GaugeSink) Empty() bool { return g.n == 0 }

// RateSink counts the samples that are not zero. Its zero value is ready.
type RateSink struct{ Passes, Total int64 }

// Add takes one sample in.
func (r *RateSink) Add(v float64, _ int64) {
	r.Total++
	if v != 0 {
		r.Passes++
	}
}

// Empty says that no sample was added.
func (r *RateSink) Empty() bool { return r.Total == 0 }

// Rate is the share of samples that are not zero, 0 if there are none.
func (r *RateSink) Rate() float64 {
	if r.Total == 0 {
		return 0
	}
	return float64(r.Passes) / float64(r.Total)
}

// TrendSink keeps every value. Its zero value is ready; all of its statistics
// are 0 while it is empty.
type TrendSink struct {
	values   []float64
	sorted   int // values[:sorted] are in order
	sum      float64
	min, max float64
}

// Add takes one sample in.
func (t *TrendSink) Add(v float64, _ int64) {
	if len(t.values) == 0 {
		t.min, t.max = v, v
	}
	t.values = append(t.values, v)
	t.sum += v
	t.min, t.max = min(t.min, v), max(t.max, v)
}

// Empty says that no sample was added.
func (t *TrendSink) Empty() bool { return len(t.values) == 0 }

// Count is how many samples there are.
func (t *TrendSink) Count() uint64 { return uint64(len(t.values)) }

// Min is the least value.
func (t *TrendSink) Min() float64 { return t.min }

// Max is the greatest value.
func (t *TrendSink) Max() float64 { return t.max }

// Avg is the arithmetic mean.
func (t *TrendSink) Avg() float64 {
	if len(t.values) == 0 {
		return 0
	}
	return t.sum / float64(len(t.values))
}

// Percentile is the value at pct of 100, interpolated linearly between the
// two that are next to it, as k6 does. It is 0 for a pct outside of [0, 100].
func (t *TrendSink) Percentile(pct float64) float64 {
	n := len(t.values)
	if n == 0 || !(pct >= 0 && pct <= 100) {
		return 0
	}
	if t.sorted != n {
		slices.Sort(t.values)
		t.sorted = n
	}
	pos := pct / 100 * float64(n-1)
	lo, hi := math.Floor(pos), math.Ceil(pos)
	a, b := t.values[int(lo)], t.values[int(hi)]
	return a + (b-a)*(pos-lo)
}
