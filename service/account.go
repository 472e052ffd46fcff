package service

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/retrylab/retrylab/resilience"
	"github.com/sirupsen/logrus"
)

// Snapshot is the account of a service's requests, by the names of the
// published lab. Rates are shares; latencies are in milliseconds, 0 where
// there is none; percentiles are nearest-rank.
type Snapshot struct {
	TotalRequests               int     `json:"totalRequests"`
	SuccessfulRequests          int     `json:"successfulRequests"`
	FailedRequests              int     `json:"failedRequests"`
	SuccessRate                 float64 `json:"successRate"`
	ErrorRate                   float64 `json:"errorRate"`
	SuccessfulRequestsPerSecond float64 `json:"successfulRequestsPerSecond"` // from the first request's start to the last one's end
	AllAttemptLatencyP95Ms      float64 `json:"allAttemptLatencyP95Ms"`
	AllAttemptLatencyP99Ms      float64 `json:"allAttemptLatencyP99Ms"`
	SuccessLatencyP95Ms         float64 `json:"successLatencyP95Ms"`
	SuccessLatencyP99Ms         float64 `json:"successLatencyP99Ms"`
	DownstreamCalls             int     `json:"downstreamCalls"`
	RetryAmplificationFactor    float64 `json:"retryAmplificationFactor"`
	RetryAttempts               int     `json:"retryAttempts"` // refused ones included
	RetryAttemptsPerRequest     float64 `json:"retryAttemptsPerRequest"`
	TimeoutCount                int     `json:"timeoutCount"`
	CircuitBreakerRejected      int     `json:"circuitBreakerRejected"`
	BulkheadRejected            int     `json:"bulkheadRejected"`
	CurrentInflightDownstream   int     `json:"currentInflightDownstream"`
	MaxInflightDownstream       int     `json:"maxInflightDownstream"`
	ConcurrencyObservation      string  `json:"concurrencyObservation"` // low below 30 in flight, moderate from 30, high from 80
}

// observation words a number of calls in flight. It says how many there were,
// and nothing of whether that was too many.
func observation(inflight int) string {
	switch {
	case inflight >= 80:
		return "high"
	case inflight >= 30:
		return "moderate"
	}
	return "low"
}

// account counts requests. It may be used by many goroutines at once.
type account struct {
	mu          sync.Mutex
	counts      Snapshot // its counters alone
	attempts    latencies
	successes   latencies
	first, last time.Time
}

func newAccount() *account { return &account{} }

// recorder is the account of one request.
type recorder struct {
	account   *account
	log       logrus.FieldLogger
	attemptMs []float64
}

func (a *account) begin(log logrus.FieldLogger) *recorder {
	a.mu.Lock()
	if a.first.IsZero() {
		a.first = time.Now()
	}
	a.mu.Unlock()
	return &recorder{account: a, log: log}
}

// Observe counts the events of the request's attempts.
func (r *recorder) Observe(e resilience.Event) {
	a := r.account
	switch e.Kind {
	case resilience.AttemptStarted:
		a.mu.Lock()
		a.counts.DownstreamCalls++
		a.counts.CurrentInflightDownstream++
		a.counts.MaxInflightDownstream = max(a.counts.MaxInflightDownstream, a.counts.CurrentInflightDownstream)
		a.tried(e)
		a.mu.Unlock()
	case resilience.AttemptEnded:
		ms := milliseconds(e.Duration)
		r.attemptMs = append(r.attemptMs, ms)
		a.mu.Lock()
		a.counts.CurrentInflightDownstream--
		a.attempts.add(ms)
		if e.Outcome == resilience.Timeout {
			a.counts.TimeoutCount++
		}
		a.mu.Unlock()
	case resilience.Rejected:
		a.mu.Lock()
		a.tried(e)
		switch e.Outcome {
		case resilience.BreakerOpen:
			a.counts.CircuitBreakerRejected++
		case resilience.BulkheadFull:
			a.counts.BulkheadRejected++
		}
		a.mu.Unlock()
	case resilience.BreakerChanged:
		r.log.WithFields(logrus.Fields{
			"policy": e.Policy, "from": e.From.String(), "to": e.To.String(),
		}).Info("circuit breaker changed state")
	}
}

// tried counts a retry, whether it was handed to the transport or refused. The
// lock is held.
func (a *account) tried(e resilience.Event) {
	if e.AttemptKind == resilience.Retry {
		a.counts.RetryAttempts++
	}
}

// end counts the request.
func (r *recorder) end(report resilience.Report) {
	a := r.account
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.TotalRequests++
	if report.End == resilience.Success {
		a.counts.SuccessfulRequests++
		a.successes.add(milliseconds(report.Duration))
	}
	a.last = time.Now()
}

// snapshot is the account now. Its figures of calls in flight are the caller's.
func (a *account) snapshot() Snapshot {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.counts
	s.FailedRequests = s.TotalRequests - s.SuccessfulRequests
	if n := float64(s.TotalRequests); n > 0 {
		s.SuccessRate = float64(s.SuccessfulRequests) / n
		s.ErrorRate = float64(s.FailedRequests) / n
		s.RetryAmplificationFactor = float64(s.DownstreamCalls) / n
		s.RetryAttemptsPerRequest = float64(s.RetryAttempts) / n
	}
	if seconds := a.last.Sub(a.first).Seconds(); seconds > 0 {
		s.SuccessfulRequestsPerSecond = float64(s.SuccessfulRequests) / seconds
	}
	s.AllAttemptLatencyP95Ms, s.AllAttemptLatencyP99Ms = a.attempts.percentile(95), a.attempts.percentile(99)
	s.ConcurrencyObservation = observation(s.MaxInflightDownstream)
	s.SuccessLatencyP95Ms, s.SuccessLatencyP99Ms = a.successes.percentile(95), a.successes.percentile(99)
	return s
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// latencies are exact up to a bound, and beyond it a sketch whose values are
// off by a thousandth at the most, so that memory does not grow with the run.
// The zero value is empty.
type latencies struct {
	exact  []float64
	sketch *ddsketch.DDSketch
}

const (
	exactLatencies = 1 << 17
	sketchError    = 0.001
)

func (l *latencies) add(ms float64) {
	if l.sketch == nil && len(l.exact) < exactLatencies {
		l.exact = append(l.exact, ms)
		return
	}
	if l.sketch == nil {
		sketch, err := ddsketch.NewDefaultDDSketch(sketchError)
		if err != nil {
			panic(err) // the error is a constant within its range
		}
		l.sketch = sketch
		for _, v := range l.exact {
			_ = l.sketch.Add(v)
		}
		l.exact = nil
	}
	_ = l.sketch.Add(ms) // fails for what no duration can be
}

// percentile is the nearest rank: the least value that p percent do not exceed.
func (l *latencies) percentile(p float64) float64 {
	if l.sketch != nil {
		v, err := l.sketch.GetValueAtQuantile(p / 100)
		if err != nil {
			return 0
		}
		return v
	}
	if len(l.exact) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l.exact))
	rank := int(math.Ceil(p*float64(len(sorted))/100 - 1e-9))
	return sorted[max(rank, 1)-1]
}
