package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// maxSeries bounds the metrics and sub-metrics of one file.
const maxSeries = 10_000

// aggregate is a run, or a part of one, that can be put together with others: its
// samples added up.
type aggregate struct {
	series map[string]*series
	checks map[checkID]*verdicts
	// first and last are the times of the begin and the end in nanoseconds since
	// 1970; last is 0 if nothing is known of them.
	first, last int64
}

// series is what a metric's samples, or the part of them with the tags of a
// sub-metric, amount to.
type series struct {
	name, contains string
	typ            MetricType
	tags           map[string]string // nil for a whole metric
	subs           []*series

	samples       uint64  // of any type but rates and trends
	sum           float64 // of a counter
	value         float64 // of a gauge, the latest
	at            int64   // when that was, in nanoseconds since 1970
	min, max      float64 // of a gauge
	passes, total uint64  // of a rate
	trend         distribution
}

type checkID struct{ group, name string }

type verdicts struct{ passes, fails uint64 }

func newAggregate() *aggregate {
	return &aggregate{series: map[string]*series{}, checks: map[checkID]*verdicts{}}
}

// add takes a sample in.
func (s *series) add(v float64, at int64) {
	switch s.typ {
	case Counter:
		s.samples++
		s.sum += v
	case Gauge:
		s.gauge(v, v, v, at)
	case Rate:
		s.total++
		if v != 0 {
			s.passes++
		}
	case Trend:
		s.trend.add(v)
	}
}

// gauge takes a gauge's latest value and its extremes in.
func (s *series) gauge(v, least, most float64, at int64) {
	if s.samples == 0 {
		s.value, s.min, s.max, s.at = v, least, most, at
	}
	s.samples++
	if at >= s.at {
		s.value, s.at = v, at
	}
	s.min, s.max = min(s.min, least), max(s.max, most)
}

// define returns the series of a name and type, a new one or the one that is
// there, and an error if that has another type.
func (a *aggregate) define(name, contains string, t MetricType) (*series, error) {
	s := a.series[name]
	switch {
	case t == 0:
		return nil, fmt.Errorf("metric %s has none of the types counter, gauge, rate, trend", quoted(name))
	case s == nil && len(a.series) >= maxSeries:
		return nil, fmt.Errorf("more than %d metrics", maxSeries)
	case s == nil:
		s = &series{name: name, contains: contains, typ: t}
		a.series[name] = s
	case s.typ != t:
		return nil, fmt.Errorf("metric %s is a %v and a %v", quoted(name), s.typ, t)
	}
	return s, nil
}

// span widens the time of the aggregate.
func (a *aggregate) span(first, last int64) {
	if a.last == 0 {
		a.first, a.last = first, last
		return
	}
	a.first, a.last = min(a.first, first), max(a.last, last)
}

// merge takes another aggregate in, which is of no use after.
func (a *aggregate) merge(o *aggregate) error {
	for _, name := range slices.Sorted(maps.Keys(o.series)) {
		from := o.series[name]
		to, err := a.define(name, from.contains, from.typ)
		if err != nil {
			return err
		}
		to.sum += from.sum
		to.passes += from.passes
		to.total += from.total
		if from.typ == Gauge && from.samples > 0 {
			to.gauge(from.value, from.min, from.max, from.at)
		}
		if from.typ == Counter {
			to.samples += from.samples
		}
		if err := to.trend.merge(&from.trend); err != nil {
			return fmt.Errorf("metric %s: %w", quoted(name), err)
		}
	}
	for id, v := range o.checks {
		a.check(id).add(v.passes, v.fails)
	}
	if o.last != 0 {
		a.span(o.first, o.last)
	}
	return nil
}

func (a *aggregate) check(id checkID) *verdicts {
	v := a.checks[id]
	if v == nil {
		v = &verdicts{}
		a.checks[id] = v
	}
	return v
}

func (v *verdicts) add(passes, fails uint64) {
	v.passes += passes
	v.fails += fails
}

// seconds is the time from the begin to the end, 0 if it is not known.
func (a *aggregate) seconds() float64 {
	return time.Duration(a.last - a.first).Seconds()
}

// metrics are the aggregate's metrics, those without samples left out. The rate
// of a counter is its sum over the time from the begin to the end.
func (a *aggregate) metrics() Metrics {
	out := Metrics{}
	for name, s := range a.series {
		if values := s.values(a.seconds()); values != nil {
			out[name] = Metric{Type: s.typ, Contains: s.contains, Values: values}
		}
	}
	return out
}

func (s *series) values(seconds float64) map[string]float64 {
	values := map[string]float64{}
	switch {
	case s.typ == Counter && s.samples > 0:
		values["count"] = s.sum
		if seconds > 0 {
			values["rate"] = s.sum / seconds
		}
	case s.typ == Gauge && s.samples > 0:
		values["value"], values["min"], values["max"] = s.value, s.min, s.max
	case s.typ == Rate && s.total > 0:
		values = rateOf(float64(s.passes), float64(s.total-s.passes))
	case s.typ == Trend && s.trend.count > 0:
		values = s.trend.trendValues()
	default:
		return nil
	}
	maps.DeleteFunc(values, func(_ string, v float64) bool { return math.IsInf(v, 0) || math.IsNaN(v) })
	return values
}
