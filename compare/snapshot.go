package compare

import "fmt"

// readSnapshot reads the account of a service, in camel case: the counts of
// `retrylab serve` and of the published experiment's service, whose old files
// say saturationObservation where newer ones say concurrencyObservation.
func readSnapshot(top object) (Metrics, error) {
	v, err := top.numbers("concurrencyObservation", "saturationObservation")
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	from := func(names ...string) (sum float64, ok bool) {
		for _, name := range names {
			n, known := v[name]
			if !known {
				return 0, false
			}
			sum += n
		}
		return sum, true
	}
	metrics := Metrics{}
	put := func(name string, t MetricType, values map[string]float64, of ...string) {
		metrics[name] = Metric{Type: t, Values: values, Of: of}
	}
	successes, okS := from("successfulRequests")
	perSecond, okRate := from("successfulRequestsPerSecond")
	seconds, okSeconds := ratio(successes, okS, perSecond, okRate)
	count := func(name, of string) {
		if n, ok := from(of); ok {
			values := map[string]float64{"count": n}
			if rate, ok := ratio(n, true, seconds, okSeconds); ok {
				values["rate"] = rate
			}
			put(name, Counter, values, of)
		}
	}
	count(requests, "totalRequests")
	count("resilience_downstream_calls", "downstreamCalls")
	count("resilience_retries", "retryAttempts")
	count("resilience_timeouts", "timeoutCount")
	count("resilience_rejected_breaker", "circuitBreakerRejected")
	count("resilience_rejected_bulkhead", "bulkheadRejected")
	total, okT := from("totalRequests")
	if failures, ok := minus(total, okT, successes, okS); ok {
		put("resilience_success", Rate, rateOf(successes, failures), "successfulRequests", "totalRequests")
	}
	calls, _ := from("downstreamCalls")
	// A percentile of nothing is written as 0.
	latency := func(name string, samples float64, p95, p99 string) {
		values := map[string]float64{}
		for key, of := range map[string]string{"p(95)": p95, "p(99)": p99} {
			if ms, ok := from(of); ok && samples > 0 {
				values[key] = ms
			}
		}
		if len(values) > 0 {
			metrics[name] = Metric{Type: Trend, Contains: "time", Values: values, Of: []string{p95, p99}}
		}
	}
	latency("resilience_attempt_duration", calls, "allAttemptLatencyP95Ms", "allAttemptLatencyP99Ms")
	latency("resilience_success_duration", successes, "successLatencyP95Ms", "successLatencyP99Ms")
	// The service counts its own calls in flight; the published experiment's
	// figure of that name is this one.
	if most, ok := from("maxInflightDownstream"); ok {
		for _, name := range []string{"resilience_inflight", "downstream_max_inflight"} {
			put(name, Gauge, map[string]float64{"max": most}, "maxInflightDownstream")
		}
	}
	return metrics, metrics.settle()
}

// rateOf are the values of a rate.
func rateOf(passes, fails float64) map[string]float64 {
	values := map[string]float64{"passes": passes, "fails": fails}
	if share, ok := ratio(passes, true, passes+fails, true); ok {
		values["value"] = share
	}
	return values
}
