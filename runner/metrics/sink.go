package metrics

import "time"

// Sink is the aggregate of a metric's samples. Sinks are not safe for
// concurrent use.
type Sink interface {
	// Add takes one sample in. at is in nanoseconds since 1970.
	Add(value float64, at int64)
	// Empty says that no sample was added.
	Empty() bool
}

// NewSink returns an empty sink for metrics of a kind.
func NewSink(k Kind) Sink {
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

// At is the time of the latest sample, in nanoseconds since 1970.
func (g *GaugeSink) At() int64 { return g.at }

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
