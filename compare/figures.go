package compare

// The figures of one run, each with whether the run's files hold it.

func (r Run) requests() (float64, bool) {
	return r.Metrics.value("resilience_requests", Counter, "count")
}

func (r Run) successes() (float64, bool) {
	return r.Metrics.value("resilience_success", Rate, "passes")
}

func (r Run) failures() (float64, bool) {
	n, okN := r.requests()
	s, okS := r.successes()
	return minus(n, okN, s, okS)
}

func (r Run) successRate() (float64, bool) {
	s, okS := r.successes()
	n, okN := r.requests()
	return ratio(s, okS, n, okN)
}

func (r Run) errorRate() (float64, bool) {
	f, okF := r.failures()
	n, okN := r.requests()
	return ratio(f, okF, n, okN)
}

// seconds is the time by which the runner divides its counts to get rates: that
// of the whole run, setup, graceful stop and teardown included.
func (r Run) seconds() (float64, bool) {
	n, okN := r.requests()
	rate, okRate := r.Metrics.value("resilience_requests", Counter, "rate")
	return ratio(n, okN, rate, okRate)
}

func (r Run) goodput() (float64, bool) {
	s, okS := r.successes()
	t, okT := r.seconds()
	return ratio(s, okS, t, okT)
}

func (r Run) sent() (float64, bool) { return r.Metrics.ours("resilience_downstream_calls") }

func (r Run) retries() (float64, bool) { return r.Metrics.ours("resilience_retries") }

func (r Run) amplification() (float64, bool) {
	c, okC := r.sent()
	n, okN := r.requests()
	return ratio(c, okC, n, okN)
}

// admitted is missing in results from before there was such a metric, in which it
// is not zero.
func (r Run) admitted() (float64, bool) {
	if n, ok := r.Metrics.value(admitted, Counter, "count"); ok {
		return n, true
	}
	sent, ok := r.sent()
	return 0, ok && sent == 0
}

func (r Run) admittedAmplification() (float64, bool) {
	c, okC := r.sent()
	n, okN := r.admitted()
	return ratio(c, okC, n, okN)
}

func (r Run) retriesPerRequest() (float64, bool) {
	c, okC := r.retries()
	n, okN := r.requests()
	return ratio(c, okC, n, okN)
}

// rejected is of the guards that the run counted: the published experiment's
// script, for one, has breaker and bulkhead alone.
func (r Run) rejected() (float64, bool) {
	sum, known := 0.0, false
	for _, by := range []string{"breaker", "bulkhead", "rate_limit", "throttle", "budget"} {
		if n, ok := r.Metrics.ours("resilience_rejected_" + by); ok {
			sum, known = sum+n, true
		}
	}
	return sum, known
}

func (r Run) maxCaller() (float64, bool) {
	return r.Metrics.value("resilience_inflight", Gauge, "max")
}

// server is a figure of the server's from the run.json, or else from the metric
// that the script put it into.
func (r Run) server(name, metric string) (float64, bool) {
	if v, ok := r.Downstream[name]; ok {
		return v, true
	}
	return r.Metrics.total(metric)
}

func (r Run) maxServer() (float64, bool) {
	return r.server("max_inflight", "downstream_max_inflight")
}

func (r Run) overdue() (float64, bool) {
	v, ok := r.Downstream["max_inflight_overdue"]
	return v, ok
}

func (r Run) received() (float64, bool) {
	return r.server("received", "downstream_calls")
}

func (r Run) receivedAmplification() (float64, bool) {
	c, okC := r.received()
	n, okN := r.requests()
	return ratio(c, okC, n, okN)
}

func (r Run) countDifference() (float64, bool) {
	got, okGot := r.received()
	if len(r.Tiers) > 0 {
		got, okGot = r.Tiers[0].Received, true // which is what the caller called
	}
	sent, okSent := r.sent()
	return minus(got, okGot, sent, okSent)
}

func (r Run) abandoned() (float64, bool) {
	return r.server("abandoned", "downstream_abandoned")
}

func (r Run) residualShare() (float64, bool) {
	residual, okR := r.server("residual_ms", "downstream_residual_ms")
	busy, okB := r.server("busy_ms", "downstream_busy_ms")
	return ratio(residual, okR, busy, okB)
}

func (r Run) duplicateShare() (float64, bool) {
	duplicate, okD := r.Downstream["duplicate_ms"]
	busy, okB := r.server("busy_ms", "downstream_busy_ms")
	return ratio(duplicate, okD, busy, okB)
}

func (r Run) wastedShare() (float64, bool) {
	residual, okR := r.residualShare()
	duplicate, okD := r.duplicateShare()
	return residual + duplicate, okR && okD
}

func (r Run) busyPerRequest() (float64, bool) {
	busy, okB := r.server("busy_ms", "downstream_busy_ms")
	n, okN := r.requests()
	return ratio(busy, okB, n, okN)
}

func (r Run) notice() (float64, bool) {
	if r.Downstream["notice_count"] == 0 {
		return 0, false // no caller has gone, or nobody counted
	}
	v, ok := r.Downstream["notice_mean_ms"]
	return v, ok
}

func (r Run) dialsPerRequest() (float64, bool) {
	dials, okD := r.Downstream["dials"]
	n, okN := r.requests()
	return ratio(dials, okD, n, okN)
}

func (r Run) httpFailed() (float64, bool) {
	return r.Metrics.value("http_req_failed", Rate, "value")
}

func (r Run) expectedSuccess() (float64, bool) { return r.expect().Success.Value() }

func (r Run) expectedAmplification() (float64, bool) { return r.expect().Amplification.Value() }

func (r Run) amplificationDeviation() (float64, bool) {
	got, okGot := r.amplification()
	want, okWant := r.expectedAmplification()
	return minus(got, okGot, want, okWant)
}
