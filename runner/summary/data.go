// Package summary is what a run amounts to: k6's JSON shapes, the text at the
// end of a run, and what merging the parts of a divided run needs.
package summary

import (
	"crypto/md5" // k6's identifiers, not a secret
	"encoding/hex"
	"encoding/json"
	"sort"
	"strings"
	"time"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/thresholds"
)

// DefaultTrendStats are the statistics of trends unless the run says otherwise.
func DefaultTrendStats() []string { return []string{"avg", "min", "med", "max", "p(90)", "p(95)"} }

// Threshold is a criterion and its verdict.
type Threshold struct {
	Source string
	OK     bool
	// Aggregation is what was judged, as in `p(95)`, and Value how much it was.
	Aggregation string
	Value       float64
}

// Value is a named number of a metric.
type Value struct {
	Name   string
	Number float64
}

// Metric is a metric of the summary.
type Metric struct {
	Name, Type, Contains string
	Values               []Value
	Thresholds           []Threshold
	// Empty says that no sample was seen.
	Empty bool
}

// Get is a value by name, 0 if there is none.
func (m Metric) Get(name string) float64 {
	for _, v := range m.Values {
		if v.Name == name {
			return v.Number
		}
	}
	return 0
}

// Check is a check with its verdicts.
type Check struct {
	Name, Path, ID string
	Passes, Fails  int64
}

// Group is a group with its checks and the groups in it, in the order in which
// they were seen.
type Group struct {
	Name, Path, ID string
	Groups         []*Group
	Checks         []Check
}

// Data is a finished run.
type Data struct {
	Root       *Group
	Metrics    []Metric // by name, submetrics after their metric
	TrendStats []string
	TimeUnit   string
	// Mode is how much the text tells, and which metrics are in the
	// machine-readable summary.
	Mode Mode
	// Parts are the groups and scenarios by themselves; the text of the mode
	// full has them. Nil means none.
	Parts *Part
	// Script is the script's source.
	Script string
	// Ended is when the run ended.
	Ended     time.Time
	NoColor   bool
	StdoutTTY bool
	StderrTTY bool
	Duration  time.Duration
	// SetupData is what setup returned, as JSON; nil if there is no setup.
	SetupData json.RawMessage
}

// Collect reads the aggregates. Call it inside of the engine's View, and with
// the thresholds evaluated. trendStats must be ones that [ValidStat] takes.
func Collect(r *metrics.Registry, e *metrics.Engine, set *thresholds.Set, trendStats []string, run time.Duration) *Data {
	d := &Data{TrendStats: trendStats, Duration: run, Root: groups(e.Checks())}
	verdicts := make(map[string][]Threshold)
	for _, of := range set.All() {
		for _, t := range of.List {
			verdicts[of.Metric.Name] = append(verdicts[of.Metric.Name], Threshold{
				Source: t.Source, OK: !t.Failed, Aggregation: t.Expr.Name(), Value: t.Value,
			})
		}
	}
	for _, m := range r.All() {
		if !m.Shown() {
			continue
		}
		out := metric(m, m.Sink(), trendStats, run)
		out.Thresholds = verdicts[m.Name]
		d.Metrics = append(d.Metrics, out)
	}
	return d
}

// metric is a metric with the values of a sink: its own, or a part's.
func metric(m *metrics.Metric, s metrics.Sink, stats []string, run time.Duration) Metric {
	return Metric{
		Name: m.Name, Type: m.Kind.String(), Contains: m.Contains.String(), Values: values(s, stats, run), Empty: s.Empty(),
	}
}

func values(s metrics.Sink, stats []string, run time.Duration) []Value {
	switch s := s.(type) {
	case *metrics.CounterSink:
		return []Value{{"count", s.Count}, {"rate", s.Rate(run)}}
	case *metrics.GaugeSink:
		return []Value{{"value", s.Value}, {"min", s.Min}, {"max", s.Max}}
	case *metrics.RateSink:
		return []Value{{"rate", s.Rate()}, {"passes", float64(s.Passes)}, {"fails", float64(s.Total - s.Passes)}}
	case *metrics.TrendSink:
		out := make([]Value, len(stats))
		for i, name := range stats {
			out[i] = Value{name, stat(s, name)}
		}
		return out
	}
	return nil
}

func stat(t *metrics.TrendSink, name string) float64 {
	switch name {
	case "avg":
		return t.Avg()
	case "min":
		return t.Min()
	case "med":
		return t.Percentile(50)
	case "max":
		return t.Max()
	case "count":
		return float64(t.Count())
	}
	pct, _ := thresholds.Percentile(name)
	return t.Percentile(pct)
}

// ValidStat says whether a trend statistic is known: avg, min, med, max, count
// or p(N) with N in [0, 100].
func ValidStat(name string) bool {
	switch name {
	case "avg", "min", "med", "max", "count":
		return true
	}
	_, ok := thresholds.Percentile(name)
	return ok
}

// groups makes the tree of groups out of the checks that were seen in them.
func groups(checks []metrics.Check) *Group {
	root := newGroup("", "")
	for _, c := range checks {
		g := root
		for _, name := range strings.Split(c.Group, "::") {
			if name == "" {
				continue
			}
			g = g.child(name)
		}
		path := g.Path + "::" + c.Name
		g.Checks = append(g.Checks, Check{Name: c.Name, Path: path, ID: id(path), Passes: c.Passes, Fails: c.Fails})
	}
	return root
}

func newGroup(name, path string) *Group { return &Group{Name: name, Path: path, ID: id(path)} }

func (g *Group) child(name string) *Group {
	for _, c := range g.Groups {
		if c.Name == name {
			return c
		}
	}
	c := newGroup(name, g.Path+"::"+name)
	g.Groups = append(g.Groups, c)
	return c
}

func id(path string) string {
	sum := md5.Sum([]byte(path)) // k6's identifiers, not a secret
	return hex.EncodeToString(sum[:])
}

// Failed are the names of the metrics with a failed threshold, in order.
func (d *Data) Failed() []string {
	var out []string
	for _, m := range d.Metrics {
		for _, t := range m.Thresholds {
			if !t.OK {
				out = append(out, m.Name)
				break
			}
		}
	}
	sort.Strings(out)
	return out
}
