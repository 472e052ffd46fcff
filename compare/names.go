package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// requests is the metric of ours without which a summary tells of no policy.
const requests = "resilience_requests"

// admitted is the metric of the requests that made a call. Older builds lack it.
const admitted = "resilience_admitted"

// target is a figure that a script may count under a name of its own. Where no
// name is given, the target's own is looked for: the published experiment's
// script uses these.
type target struct {
	name string
	// metric is the metric of ours that stands for the figure, and type what the
	// script's own metric must be.
	metric string
	typ    MetricType
}

// targets are the names of the published experiment, and for what else a script
// may count, names made like them.
func targets() []target {
	return []target{
		{"total_requests", requests, Counter},
		{"successful_requests", "", Counter},
		{"failed_requests", "", Counter},
		{"request_failed", "", Rate},
		{"admitted_requests", admitted, Counter},
		{"downstream_calls", "resilience_downstream_calls", Counter},
		{"retry_attempts", "resilience_retries", Counter},
		{"retry_attempts_per_request", "", Trend},
		{"retry_amplification_factor", "resilience_amplification", Trend},
		{"timeout_count", "resilience_timeouts", Counter},
		{"circuit_breaker_rejected", "resilience_rejected_breaker", Counter},
		{"bulkhead_rejected", "resilience_rejected_bulkhead", Counter},
		{"rate_limit_rejected", "resilience_rejected_rate_limit", Counter},
		{"throttle_rejected", "resilience_rejected_throttle", Counter},
		{"budget_rejected", "resilience_rejected_budget", Counter},
		{"all_attempt_latency", "resilience_attempt_duration", Trend},
		{"successful_request_latency", "resilience_success_duration", Trend},
		{"request_latency", "resilience_request_duration", Trend},
		{"max_inflight_caller", "resilience_inflight", Gauge},
		{"max_inflight_downstream", "downstream_max_inflight", Gauge},
		{"downstream_received", "downstream_calls", Counter},
		{"abandoned", "downstream_abandoned", Counter},
	}
}

// Targets returns the figures that [Reader].Names may map metrics to.
func Targets() []string {
	var names []string
	for _, t := range targets() {
		names = append(names, t.name)
	}
	return names
}

// checkNames is the error about the first mapping that cannot be one.
func checkNames(names map[string]string) error {
	known := Targets()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch {
		case !slices.Contains(known, name):
			return fmt.Errorf("map %s=%s: unknown figure %q; known are %s", name, names[name], name, strings.Join(known, ", "))
		case names[name] == "":
			return fmt.Errorf("map %s=: no metric is named", name)
		}
	}
	return nil
}

// adopt adds to the metrics ours that stand for the script's own: those that the
// user names, and where the extension counted nothing, those of the published
// experiment. used learns which of the user's names are in a file.
//
// Our scripts have the server's count under downstream_calls, the published one
// has the caller's: as soon as that is known it is taken away from the other.
func (m Metrics) adopt(names map[string]string, used map[string]bool) error {
	_, own := m[requests]
	found := map[string]Metric{}
	for _, t := range targets() {
		name, mapped := names[t.name]
		if !mapped {
			if name = t.name; own || !published(name) {
				continue
			}
		}
		metric, ok := m[name]
		if !ok {
			continue
		}
		used[t.name] = true
		if metric.Type != t.typ && !(t.typ == Counter && metric.Type == Rate) {
			return fmt.Errorf("metric %s is a %v: %s needs a %v", quoted(name), metric.Type, t.name, t.typ)
		}
		found[t.name] = Metric{Type: t.typ, Contains: metric.Contains, Values: as(t.typ, metric), Of: []string{name}}
	}
	if len(found) == 0 {
		return nil
	}
	if calls, ok := found["downstream_calls"]; ok && calls.Of[0] == "downstream_calls" {
		delete(m, "downstream_calls")
	}
	for _, t := range targets() {
		if metric, ok := found[t.name]; ok && t.metric != "" {
			m[t.metric] = metric
		}
	}
	m.outcomes(found)
	m.retries(found)
	return nil
}

// published says whether the published experiment's script has the name.
func published(name string) bool {
	switch name {
	case "successful_requests", "failed_requests", "request_failed", "downstream_calls", "timeout_count",
		"circuit_breaker_rejected", "bulkhead_rejected", "retry_amplification_factor", "retry_attempts_per_request",
		"all_attempt_latency", "successful_request_latency":
		return true
	}
	return false
}

// as are the values of a metric as ones of the type: a rate counts its passes.
func as(t MetricType, metric Metric) map[string]float64 {
	if t != Counter || metric.Type == Counter {
		return maps.Clone(metric.Values)
	}
	if n, ok := metric.Values["passes"]; ok {
		return map[string]float64{"count": n}
	}
	return map[string]float64{}
}

// outcomes sets requests and successes out of any two of total, successful and
// failed requests, or of the rate of failed ones. k6 leaves out a counter that
// never fired, so of a script that has the rate a missing count is 0.
func (m Metrics) outcomes(found map[string]Metric) {
	get := func(name string) (float64, bool) {
		v, ok := found[name].Values["count"]
		return v, ok
	}
	total, okT := get("total_requests")
	good, okG := get("successful_requests")
	bad, okB := get("failed_requests")
	of := origins(found, "total_requests", "successful_requests", "failed_requests")
	if rate, ok := found["request_failed"]; ok && len(of) < 2 {
		bad, okB = rate.Values["passes"]
		good, okG = rate.Values["fails"]
		of = append(of, rate.Of...)
	}
	switch {
	case okG && okB && !okT:
		total = good + bad
	case okT && okB && !okG:
		good = total - bad
	case okT && okG:
		bad = total - good
	default:
		return // one of them says nothing about the others
	}
	if bad < 0 || good < 0 {
		return
	}
	values := map[string]float64{"count": total}
	if rate, ok := m.perSecond(found, total); ok {
		values["rate"] = rate
	}
	if _, mapped := found["total_requests"]; !mapped {
		m[requests] = Metric{Type: Counter, Values: values, Of: of}
	}
	m["resilience_success"] = Metric{Type: Rate, Values: rateOf(good, bad), Of: of}
}

// perSecond is a count over the time of the run, which any counter that counted
// something tells.
func (m Metrics) perSecond(found map[string]Metric, n float64) (float64, bool) {
	for _, metrics := range []map[string]Metric{found, m} {
		for _, name := range slices.Sorted(maps.Keys(metrics)) {
			c := metrics[name]
			count, okC := c.Values["count"]
			rate, okR := c.Values["rate"]
			if c.Type != Counter {
				continue
			}
			if seconds, ok := ratio(count, okC && count > 0, rate, okR && rate > 0); ok {
				return ratio(n, true, seconds, true)
			}
		}
	}
	return 0, false
}

// retries sets the count of retries out of their mean per request.
func (m Metrics) retries(found map[string]Metric) {
	if _, counted := found["retry_attempts"]; counted {
		return
	}
	trend, ok := found["retry_attempts_per_request"]
	mean, okMean := trend.Values["avg"]
	n, okN := m.value(requests, Counter, "count")
	if samples, ok := trend.Values["count"]; ok {
		n, okN = samples, true
	}
	if !ok || !okMean || !okN {
		return
	}
	m["resilience_retries"] = Metric{Type: Counter, Of: trend.Of, Values: map[string]float64{"count": math.Round(mean * n)}}
}

// origins are the file's names of those targets that were found.
func origins(found map[string]Metric, names ...string) []string {
	var of []string
	for _, name := range names {
		of = append(of, found[name].Of...)
	}
	return of
}
