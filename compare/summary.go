package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MetricType is the type of a k6 metric.
type MetricType int

// The types of k6's metrics. The zero MetricType is none of them.
const (
	Counter MetricType = iota + 1
	Gauge
	Rate
	Trend
)

// Metric is the summary of one metric: what k6 printed of it, by k6's names.
type Metric struct {
	Type MetricType
	// Values holds count and rate of a Counter; value, min and max of a Gauge;
	// passes, fails and value of a Rate, where passes counts the samples that
	// were not zero; avg, min, med, max, p(95) and the like of a Trend.
	Values map[string]float64
}

// Metrics are metrics by name.
type Metrics map[string]Metric

// value returns one value of a metric of the type.
func (m Metrics) value(name string, t MetricType, key string) (float64, bool) {
	metric, ok := m[name]
	if !ok || metric.Type != t {
		return 0, false
	}
	v, ok := metric.Values[key]
	return v, ok
}

// ours returns the count of one of the resilience counters. k6 leaves a metric
// without samples out of its summary, so where the run's requests were counted
// at all a missing counter is one that never fired.
func (m Metrics) ours(name string) (float64, bool) {
	if v, ok := m.value(name, Counter, "count"); ok {
		return v, true
	}
	_, present := m[name]
	_, counted := m.value("resilience_requests", Counter, "count")
	return 0, counted && !present
}

// total returns the figure of a metric that the server's statistics were put
// into, which is a counter's count or a gauge's greatest value.
func (m Metrics) total(name string) (float64, bool) {
	if v, ok := m.value(name, Counter, "count"); ok {
		return v, true
	}
	return m.value(name, Gauge, "max")
}

// parseSummary reads k6's flat --summary-export, which names no types: they
// follow from the keys.
func parseSummary(data []byte) (Metrics, error) {
	var file struct {
		Metrics map[string]map[string]json.RawMessage `json:"metrics"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a k6 summary: %w", err)
	}
	if file.Metrics == nil {
		return nil, errors.New(`not a k6 summary: no "metrics" in it`)
	}
	metrics := make(Metrics, len(file.Metrics))
	for name, fields := range file.Metrics {
		if _, nested := fields["values"]; nested {
			return nil, fmt.Errorf("metric %q has its values nested, as handleSummary writes them: only the flat shape of --summary-export is read", name)
		}
		metric := Metric{Values: make(map[string]float64, len(fields))}
		for key, raw := range fields {
			if key == "thresholds" {
				continue
			}
			var v *float64
			if err := json.Unmarshal(raw, &v); err != nil {
				return nil, fmt.Errorf("metric %q: %s is no number: %w", name, key, err)
			}
			if v != nil {
				metric.Values[key] = *v
			}
		}
		metric.Type = typeOf(metric.Values)
		if metric.Values["count"] < 0 || metric.Values["passes"] < 0 || metric.Values["fails"] < 0 {
			return nil, fmt.Errorf("metric %q has a count below 0", name)
		}
		metrics[name] = metric
	}
	return metrics, nil
}

// typeOf tells the type by the keys. The statistics of a trend are the user's
// choice (summaryTrendStats), count among them, so a trend is what has any that
// no other type has.
func typeOf(values map[string]float64) MetricType {
	has := func(key string) bool { _, ok := values[key]; return ok }
	for key := range values {
		if key == "avg" || key == "med" || strings.HasPrefix(key, "p(") {
			return Trend
		}
	}
	switch {
	case has("passes") && has("fails"):
		return Rate
	case has("value"):
		return Gauge
	case has("count") && has("rate"):
		return Counter
	case has("min") || has("max") || has("count"):
		return Trend
	}
	return 0
}
