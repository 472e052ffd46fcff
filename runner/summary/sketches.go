package summary

import (
	"encoding/json"
	"math"
	"time"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/thresholds"
)

// SketchesFormat and SketchesVersion stand at the beginning of the files that
// [Sketches] describes.
const (
	SketchesFormat  = "retrylab-sketches"
	SketchesVersion = 1
)

// Sketches is the file of --summary-sketches: what one shard of a divided run
// must tell so that the whole can be put together without error (counters,
// rates, checks, extremes) or within a stated one (percentiles).
//
// The file is one JSON object. Its keys never change their meaning; a version
// above 1 means that a reader of version 1 would misread it, new keys do not
// need one. Numbers are float64, shortest form that reads back the same; an
// infinite one is the text "Infinity" or "-Infinity", and a sum of both "NaN".
// Example, shortened, and with line breaks that the file does not have:
//
//	{
//	 "format": "retrylab-sketches", "version": 1,
//	 "start": "2026-01-02T15:04:05.000000006Z", "duration_ms": 1006.4, "relative_error": 0.001, "segment": "1/4:1/2",
//	 "metrics": [
//	  {"name": "http_reqs", "type": "counter", "contains": "default", "counter": {"sum": 31}},
//	  {"name": "vus", "type": "gauge", "contains": "default",
//	   "gauge": {"value": 2, "min": 0, "max": 5, "time": "2026-01-02T15:04:06Z"}},
//	  {"name": "checks", "type": "rate", "contains": "default", "thresholds": ["rate>0.9"],
//	   "rate": {"passes": 42, "total": 51}},
//	  {"name": "http_req_duration", "type": "trend", "contains": "time",
//	   "trend": {"count": 900000, "sum": 1.5e7, "min": 3.7, "max": 45.7, "sketch": "AQ…"}},
//	  {"name": "http_req_duration{scenario:b}", "type": "trend", "contains": "time",
//	   "parent": "http_req_duration", "tags": {"scenario": "b"},
//	   "trend": {"count": 3, "sum": 12, "min": 3, "max": 5, "values": [3, 4, 5]}}
//	 ],
//	 "checks": [{"group": "::grp", "name": "status ok", "passes": 7, "fails": 3}]
//	}
//
// To merge: add sums, counts, passes, totals and fails; take the least min and
// the greatest max, and of a gauge the value of the latest time. The rate of a
// counter is its sum over the time from the first start to the last end. If all
// shards have the values of a trend, sort all of them together: percentiles are
// exact. Otherwise add the values of those that have them to the merged sketches
// of the others; every value that a percentile lies at or between is then off by
// at most relative_error.
//
// A sketch is a DDSketch: base64 (RFC 4648, section 4, padded) of what Encode of
// DDSketch in github.com/DataDog/sketches-go v1.4 writes, with its index
// mapping, which is logarithmic. DecodeDDSketch and DecodeAndMergeWith read it,
// into any store. Values nearer to 0 than 2.3e-308 are in it as 0, infinite ones
// as the greatest it can hold.
type Sketches struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Start is when setup began, in UTC.
	Start time.Time `json:"start"`
	// DurationMS is the time from before setup to after teardown.
	DurationMS float64 `json:"duration_ms"`
	// RelativeError bounds the error of the sketches.
	RelativeError float64 `json:"relative_error"`
	// Segment is the part of the run that this shard was, from:to of 1; empty for
	// a run that was not divided so.
	Segment string `json:"segment,omitempty"`
	// Metrics are in the summary's order: by name, submetrics after their metric.
	Metrics []SketchMetric `json:"metrics"`
	// Checks are in the order in which they were seen.
	Checks []SketchCheck `json:"checks"`
}

// SketchMetric is a metric or submetric. Of Counter, Gauge, Rate and Trend the
// one that Type names is set.
type SketchMetric struct {
	Name     string `json:"name"`
	Type     string `json:"type"`     // counter, gauge, rate, trend
	Contains string `json:"contains"` // default, time (in milliseconds), data (in bytes)
	// Parent is the name of the metric that a submetric is a part of, Tags what
	// its samples carry.
	Parent string            `json:"parent,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
	// Thresholds are the texts of its criteria.
	Thresholds []string `json:"thresholds,omitempty"`

	Counter *SketchCounter `json:"counter,omitempty"`
	Gauge   *SketchGauge   `json:"gauge,omitempty"`
	Rate    *SketchRate    `json:"rate,omitempty"`
	Trend   *SketchTrend   `json:"trend,omitempty"`
}

// SketchCounter is a counter's aggregate.
type SketchCounter struct {
	Sum Float `json:"sum"`
}

// SketchGauge is a gauge's aggregate. Time is that of Value; the zero time means
// that there was no sample.
type SketchGauge struct {
	Value Float     `json:"value"`
	Min   Float     `json:"min"`
	Max   Float     `json:"max"`
	Time  time.Time `json:"time"`
}

// SketchRate is a rate's aggregate: Passes of Total samples were not zero.
type SketchRate struct {
	Passes int64 `json:"passes"`
	Total  int64 `json:"total"`
}

// SketchTrend is a trend's aggregate: the Values in order or, where there were
// too many, their Sketch. Without samples it has neither.
type SketchTrend struct {
	Count  uint64  `json:"count"`
	Sum    Float   `json:"sum"`
	Min    Float   `json:"min"`
	Max    Float   `json:"max"`
	Values []Float `json:"values,omitempty"`
	Sketch []byte  `json:"sketch,omitempty"`
}

// SketchCheck is a check of a group; Group is the path of names, `::a::b`, or
// empty.
type SketchCheck struct {
	Group  string `json:"group"`
	Name   string `json:"name"`
	Passes int64  `json:"passes"`
	Fails  int64  `json:"fails"`
}

// Float is a number that may be infinite.
type Float float64

// MarshalJSON writes a number, or the text NaN, Infinity or -Infinity.
func (f Float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v): // the difference of two infinities
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(v)
	}
}

// NewSketches reads the aggregates of a run that began at start. Call it inside
// of the engine's View.
func NewSketches(r *metrics.Registry, e *metrics.Engine, set *thresholds.Set, start time.Time, run time.Duration) *Sketches {
	s := &Sketches{
		Format: SketchesFormat, Version: SketchesVersion, Start: start.UTC().Round(0), RelativeError: metrics.RelativeError,
		DurationMS: float64(run) / float64(time.Millisecond), Metrics: []SketchMetric{}, Checks: []SketchCheck{},
	}
	criteria := make(map[string][]string)
	for _, of := range set.All() {
		for _, t := range of.List {
			criteria[of.Metric.Name] = append(criteria[of.Metric.Name], t.Source)
		}
	}
	for _, m := range r.All() {
		if !m.Shown() {
			continue
		}
		out := SketchMetric{Name: m.Name, Type: m.Kind.String(), Contains: m.Contains.String(), Thresholds: criteria[m.Name]}
		if m.Parent != nil {
			out.Parent, out.Tags = m.Parent.Name, make(map[string]string, len(m.Filter))
			for _, t := range m.Filter {
				out.Tags[t.Key] = t.Value
			}
		}
		out.aggregate(m.Sink())
		s.Metrics = append(s.Metrics, out)
	}
	for _, c := range e.Checks() {
		s.Checks = append(s.Checks, SketchCheck(c))
	}
	return s
}

func (m *SketchMetric) aggregate(sink metrics.Sink) {
	switch s := sink.(type) {
	case *metrics.CounterSink:
		m.Counter = &SketchCounter{Sum: Float(s.Count)}
	case *metrics.GaugeSink:
		m.Gauge = &SketchGauge{Value: Float(s.Value), Min: Float(s.Min), Max: Float(s.Max)}
		if !s.Empty() {
			m.Gauge.Time = time.Unix(0, s.At()).UTC()
		}
	case *metrics.RateSink:
		m.Rate = &SketchRate{Passes: s.Passes, Total: s.Total}
	case *metrics.TrendSink:
		m.Trend = &SketchTrend{Count: s.Count(), Sum: Float(s.Sum()), Min: Float(s.Min()), Max: Float(s.Max()), Sketch: s.Sketch()}
		for _, v := range s.Values() {
			m.Trend.Values = append(m.Trend.Values, Float(v))
		}
	}
}

// Encode is the file's content.
func (s *Sketches) Encode() ([]byte, error) { return encode(s, "") }
