package compare

import (
	"fmt"
	"maps"
	"slices"
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

// String returns k6's word for the type, "unknown" for none.
func (t MetricType) String() string {
	switch t {
	case Counter:
		return "counter"
	case Gauge:
		return "gauge"
	case Rate:
		return "rate"
	case Trend:
		return "trend"
	}
	return "unknown"
}

// metricType is the type of k6's word, 0 for another word.
func metricType(word string) MetricType {
	for t := Counter; t <= Trend; t++ {
		if t.String() == word {
			return t
		}
	}
	return 0
}

// Metric is the summary of one metric: what k6 printed of it, by the names of
// k6's --summary-export, whatever the shape of the file.
type Metric struct {
	Type MetricType
	// Contains is what the values are: default, time (in milliseconds) or data
	// (in bytes); empty where the file does not say.
	Contains string
	// Values holds count and rate of a Counter; value, min and max of a Gauge;
	// passes, fails and value of a Rate, where passes counts the samples that
	// were not zero; avg, min, med, max, p(95), count and the like of a Trend.
	// What is not known is not in it; of a Rate or a Trend that counted no sample
	// only the counts are.
	Values map[string]float64
	// Thresholds says by their texts which of the metric's thresholds held; nil
	// for none.
	Thresholds map[string]bool
	// Of names the metrics, by their names in the file, that this one was made of;
	// nil for a metric that is in the file as it is here.
	Of []string
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
// without samples out of its summary, so where the extension counted the run's
// requests a missing counter is one that never fired.
func (m Metrics) ours(name string) (float64, bool) {
	if v, ok := m.value(name, Counter, "count"); ok {
		return v, true
	}
	_, present := m[name]
	_, counted := m.value(requests, Counter, "count")
	return 0, counted && !present && m[requests].Of == nil
}

// total returns the figure of a metric that the server's statistics were put
// into, which is a counter's count or a gauge's greatest value.
func (m Metrics) total(name string) (float64, bool) {
	if v, ok := m.value(name, Counter, "count"); ok {
		return v, true
	}
	return m.value(name, Gauge, "max")
}

// settle checks what no metric can be and takes out what k6 writes as 0 where
// there was no sample.
func (m Metrics) settle() error {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		metric := m[name]
		for _, key := range []string{"count", "passes", "fails"} {
			if v := metric.Values[key]; v < 0 {
				return fmt.Errorf("metric %q has a count below 0: %s is %v", name, key, v)
			}
		}
		passes, isRate := metric.Values["passes"]
		count, isCounted := metric.Values["count"]
		switch {
		case metric.Type == Rate && isRate && passes+metric.Values["fails"] == 0:
			delete(metric.Values, "value")
		case metric.Type == Trend && isCounted && count == 0:
			metric.Values = map[string]float64{"count": 0}
			m[name] = metric
		}
	}
	return nil
}
