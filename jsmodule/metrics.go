package jsmodule

import (
	"context"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/breaker"
)

// metricSet are the host's handles of the module's metrics.
type metricSet struct {
	requests, admitted                  Metric
	attempts, calls, retries, hedges    Metric
	timeouts, fallbacks                 Metric
	rejectedBreaker, rejectedBulkhead   Metric
	rejectedRateLimit, rejectedThrottle Metric
	rejectedBudget                      Metric
	success, amplification, inflight    Metric
	requestDuration, successDuration    Metric
	attemptDuration, waitDuration       Metric
	breakerState, breakerTransitions    Metric

	serverCalls, serverAbandoned, serverMaxInflight Metric
	serverResidual, serverBusy                      Metric
}

// register makes the metrics known to the host.
func register(h Host) (metricSet, error) {
	var m metricSet
	for _, d := range []struct {
		metric *Metric
		name   string
		kind   MetricKind
		isTime bool
	}{
		{&m.requests, "resilience_requests", Counter, false},
		{&m.admitted, "resilience_admitted", Counter, false},
		{&m.attempts, "resilience_attempts", Counter, false},
		{&m.calls, "resilience_downstream_calls", Counter, false},
		{&m.retries, "resilience_retries", Counter, false},
		{&m.hedges, "resilience_hedges", Counter, false},
		{&m.timeouts, "resilience_timeouts", Counter, false},
		{&m.fallbacks, "resilience_fallbacks", Counter, false},
		{&m.rejectedBreaker, "resilience_rejected_breaker", Counter, false},
		{&m.rejectedBulkhead, "resilience_rejected_bulkhead", Counter, false},
		{&m.rejectedRateLimit, "resilience_rejected_rate_limit", Counter, false},
		{&m.rejectedThrottle, "resilience_rejected_throttle", Counter, false},
		{&m.rejectedBudget, "resilience_rejected_budget", Counter, false},
		{&m.success, "resilience_success", Rate, false},
		{&m.amplification, "resilience_amplification", Trend, false},
		{&m.inflight, "resilience_inflight", Gauge, false},
		{&m.requestDuration, "resilience_request_duration", Trend, true},
		{&m.successDuration, "resilience_success_duration", Trend, true},
		{&m.attemptDuration, "resilience_attempt_duration", Trend, true},
		{&m.waitDuration, "resilience_wait_duration", Trend, true},
		{&m.breakerState, "resilience_breaker_state", Gauge, false},
		{&m.breakerTransitions, "resilience_breaker_transitions", Counter, false},

		{&m.serverCalls, "downstream_calls", Counter, false},
		{&m.serverAbandoned, "downstream_abandoned", Counter, false},
		{&m.serverMaxInflight, "downstream_max_inflight", Gauge, false},
		{&m.serverResidual, "downstream_residual_ms", Counter, true},
		{&m.serverBusy, "downstream_busy_ms", Counter, true},
	} {
		metric, err := h.NewMetric(d.name, d.kind, d.isTime)
		if err != nil {
			return metricSet{}, err
		}
		*d.metric = metric
	}
	return m, nil
}

// recorder turns the events of one request into samples. Of its fields, those
// that events change are touched on the request's goroutine only: a breaker's
// change, which another goroutine may tell, changes none.
type recorder struct {
	instance  *Instance
	ctx       context.Context // the VU's
	tags      Tags
	log       requestLog
	attempts  int  // begun so far, refused ones included
	admitted  bool // some attempt was not refused
	attemptMs []any
}

// recorder takes a snapshot of the VU's tags, with these pairs and the policy's
// name added. It is made on the VU's goroutine.
func (p *jsPolicy) recorder(tags []string) *recorder {
	host := p.instance.host
	return &recorder{
		instance: p.instance, ctx: patient{host.Context()},
		tags: host.Tags(append(tags, "policy", p.policy.Name())...),
		log:  p.newLog(),
	}
}

// patient is a context that ends when it ends, and does not say so before: the
// end of a scenario is no deadline of a request's, which attempts would pass on
// to the server, and by which a retry would be given up without its wait.
type patient struct{ context.Context }

// Deadline is none.
func (patient) Deadline() (time.Time, bool) { return time.Time{}, false }

func (r *recorder) push(at time.Time, samples ...Sample) {
	for k := range samples {
		samples[k].Time = at
		samples[k].Tags = r.tags
	}
	r.instance.host.Push(r.ctx, samples...)
}

// Observe pushes the samples of an attempt as it goes, so that nothing that
// is in flight at the end of a run is lost, and logs it.
func (r *recorder) Observe(e resilience.Event) {
	m := &r.instance.metrics
	switch e.Kind {
	case resilience.AttemptStarted:
		samples := append(r.tried(e),
			Sample{Metric: m.calls, Value: 1},
			Sample{Metric: m.inflight, Value: float64(e.Inflight)})
		if !r.admitted {
			r.admitted = true
			samples = append(samples, Sample{Metric: m.admitted, Value: 1})
		}
		r.push(e.At, samples...)
	case resilience.AttemptEnded:
		r.attemptMs = append(r.attemptMs, milliseconds(e.Duration))
		samples := []Sample{{Metric: m.attemptDuration, Value: milliseconds(e.Duration)}}
		if e.Outcome == resilience.Timeout {
			samples = append(samples, Sample{Metric: m.timeouts, Value: 1})
		}
		r.push(e.At, samples...)
	case resilience.Rejected:
		r.push(e.At, append(r.tried(e), Sample{Metric: m.rejected(e.Outcome), Value: 1})...)
	case resilience.BudgetExhausted:
		r.push(e.At, Sample{Metric: m.rejectedBudget, Value: 1})
	case resilience.FallbackUsed:
		r.push(e.At, Sample{Metric: m.fallbacks, Value: 1})
	case resilience.Waiting:
		r.push(e.At, Sample{Metric: m.waitDuration, Value: milliseconds(e.Duration)})
	case resilience.BreakerChanged:
		r.push(e.At,
			Sample{Metric: m.breakerTransitions, Value: 1},
			Sample{Metric: m.breakerState, Value: stateValue(e.To)})
		r.log.changed(e)
		return
	}
	r.log.observe(e)
}

// tried are the samples of an attempt, whether it was handed to the transport
// or refused.
func (r *recorder) tried(e resilience.Event) []Sample {
	m := &r.instance.metrics
	r.attempts = max(r.attempts, e.Attempt)
	samples := make([]Sample, 0, 4)
	samples = append(samples, Sample{Metric: m.attempts, Value: 1})
	switch e.AttemptKind {
	case resilience.Retry:
		samples = append(samples, Sample{Metric: m.retries, Value: 1})
	case resilience.Hedge:
		samples = append(samples, Sample{Metric: m.hedges, Value: 1})
	}
	return samples
}

// rejected is the counter of a guard's refusals.
func (m *metricSet) rejected(o resilience.Outcome) Metric {
	switch o {
	case resilience.BulkheadFull:
		return m.rejectedBulkhead
	case resilience.RateLimited:
		return m.rejectedRateLimit
	case resilience.Throttled:
		return m.rejectedThrottle
	}
	return m.rejectedBreaker
}

// finish pushes the samples of a request that has ended.
func (r *recorder) finish(report resilience.Report) {
	m := &r.instance.metrics
	success := 0.0
	samples := []Sample{
		{Metric: m.requests, Value: 1},
		{Metric: m.amplification, Value: float64(report.Calls)},
		{Metric: m.requestDuration, Value: milliseconds(report.Duration)},
	}
	if report.End == resilience.Success {
		success = 1
		samples = append(samples, Sample{Metric: m.successDuration, Value: milliseconds(report.Duration)})
	}
	r.push(time.Now(), append(samples, Sample{Metric: m.success, Value: success})...)
}

// stateValue is a breaker's state as the metric has it.
func stateValue(s breaker.State) float64 {
	switch s {
	case breaker.HalfOpen:
		return 1
	case breaker.Open, breaker.ForcedOpen:
		return 2
	}
	return 0
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
