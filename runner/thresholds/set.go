package thresholds

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/retrylab/retrylab/runner/metrics"
)

// Spec is a criterion as a script writes it.
type Spec struct {
	// Source is the criterion's text.
	Source string
	// AbortOnFail ends the run when the criterion fails.
	AbortOnFail bool
	// DelayAbortEval is how far into the run AbortOnFail takes effect.
	DelayAbortEval time.Duration
}

// Threshold is one criterion of a metric and its latest verdict.
type Threshold struct {
	Spec
	Expr   Expr
	Failed bool
	// Value is the aggregate that was judged; 0 before the first verdict and
	// where there was nothing to judge.
	Value float64
}

// Of is a metric with its criteria.
type Of struct {
	Metric *metrics.Metric
	List   []*Threshold
}

// Set is all criteria of a run. Call its methods inside of the engine's View.
type Set struct{ of []Of }

// ErrInvalid is in the chain of every error of New.
var ErrInvalid = errors.New("invalid threshold")

// New checks the criteria, given by metric key, against the registry and makes
// the submetrics they name. Its error names every fault.
func New(r *metrics.Registry, specs map[string][]Spec) (*Set, error) {
	keys := make([]string, 0, len(specs))
	for k := range specs {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	s := &Set{}
	var faults []error
	for _, key := range keys {
		m, err := r.Find(key)
		if err != nil {
			faults = append(faults, fmt.Errorf("%w on %q: %w", ErrInvalid, key, err))
			continue
		}
		of := Of{Metric: m}
		for _, spec := range specs[key] {
			e, err := Parse(spec.Source)
			if err != nil {
				faults = append(faults, fmt.Errorf("%w on %q: %w", ErrInvalid, key, err))
				continue
			}
			if ok := supported(m.Kind); !slices.Contains(ok, e.method()) {
				faults = append(faults, fmt.Errorf("%w on %q: %q: a metric of type %s has no aggregation %s, want one of %s",
					ErrInvalid, key, spec.Source, m.Kind, e.Name(), strings.Join(ok, ", ")))
				continue
			}
			of.List = append(of.List, &Threshold{Spec: spec, Expr: e})
		}
		m.Keep()
		s.of = append(s.of, of)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return s, nil
}

// method is the aggregation as messages and lists of them have it.
func (e Expr) method() string {
	if e.Aggregation == "p" {
		return "p(N)"
	}
	return e.Aggregation
}

// Name is the aggregation as it is written: avg, p(95).
func (e Expr) Name() string {
	if e.Aggregation == "p" {
		return fmt.Sprintf("p(%g)", e.Percentile)
	}
	return e.Aggregation
}

func supported(k metrics.Kind) []string {
	switch k {
	case metrics.Counter:
		return []string{"count", "rate"}
	case metrics.Gauge:
		return []string{"value"}
	case metrics.Rate:
		return []string{"rate"}
	default:
		return []string{"avg", "min", "max", "med", "p(N)"}
	}
}

// Verdict is the outcome of an evaluation.
type Verdict struct {
	// Failed are the keys of the metrics with a failed criterion, in order.
	Failed []string
	// Abort says that one of them is to end the run.
	Abort bool
}

// Len is how many metrics have criteria.
func (s *Set) Len() int { return len(s.of) }

// All are the metrics with criteria, by key.
func (s *Set) All() []Of { return s.of }

// Evaluate computes every verdict at this time into the run. final also judges
// the metrics without samples, as k6 does at the end of a run: their
// aggregates are 0, except that a rate without samples passes.
func (s *Set) Evaluate(elapsed time.Duration, final bool) Verdict {
	var v Verdict
	for _, of := range s.of {
		if !final && of.Metric.Sink().Empty() {
			continue
		}
		failed := false
		for _, t := range of.List {
			got, ok := aggregate(of.Metric.Sink(), t.Expr, elapsed)
			t.Failed, t.Value = ok && !t.Expr.Holds(got), got
			if !t.Failed {
				continue
			}
			failed = true
			if t.AbortOnFail && elapsed >= t.DelayAbortEval {
				v.Abort = true
			}
		}
		if failed {
			v.Failed = append(v.Failed, of.Metric.Name)
		}
	}
	return v
}

// Unseen are the keys whose criteria have not seen a single sample.
func (s *Set) Unseen() []string {
	var out []string
	for _, of := range s.of {
		if len(of.List) > 0 && of.Metric.Sink().Empty() {
			out = append(out, of.Metric.Name)
		}
	}
	return out
}

// aggregate is the value to judge; false where there is none to judge.
func aggregate(sink metrics.Sink, e Expr, elapsed time.Duration) (float64, bool) {
	switch s := sink.(type) {
	case *metrics.CounterSink:
		if e.Aggregation == "count" {
			return s.Count, true
		}
		return s.Rate(elapsed), elapsed > 0
	case *metrics.GaugeSink:
		return s.Value, true
	case *metrics.RateSink:
		return s.Rate(), s.Total > 0
	case *metrics.TrendSink:
		switch e.Aggregation {
		case "avg":
			return s.Avg(), true
		case "min":
			return s.Min(), true
		case "max":
			return s.Max(), true
		case "med":
			return s.Percentile(50), true
		}
		return s.Percentile(e.Percentile), true
	}
	return 0, false
}
