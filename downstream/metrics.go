package downstream

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/retrylab/retrylab/downstream/stats"
)

// metricsHandler serves the server's counters, and those of the process, in the Prometheus formats. The
// registry is its own: nothing global is touched, and several servers may live in one process.
func metricsHandler(s *Server) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		metrics{s}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry, MaxRequestsInFlight: 4})
}

// metrics is a [prometheus.Collector] that reads one snapshot a scrape, so that all values are of one
// instant. A reset sets counters back to 0, which Prometheus takes for a restart, as it should.
type metrics struct{ server *Server }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("retrylab", "downstream", name), help, labels, nil)
}

var (
	infoDesc      = describe("info", "The scenario and seed in effect; always 1.", "scenario", "seed")
	endedDesc     = describe("calls_ended_total", "Calls that ended, by outcome.", "outcome")
	inflightDesc  = describe("inflight_calls", "Calls in flight.")
	maxDesc       = describe("inflight_calls_max", "Most calls in flight at once since the last reset.")
	overdueDesc   = describe("inflight_calls_max_overdue", "How many of inflight_calls_max had outlived their caller.")
	noticeMaxDesc = describe("notice_seconds_max", "Longest time from the end of a caller's patience to its being seen gone.")
	lingerMaxDesc = describe("linger_seconds_max", "Longest time that a call stayed in flight after its client was seen gone.")
	noticeDesc    = describe("notice_seconds", "Time from the end of a caller's patience to its being seen gone.")
	lingerDesc    = describe("linger_seconds", "Time that calls stayed in flight after their client was seen gone.")

	counters = []struct {
		desc  *prometheus.Desc
		value func(stats.Snapshot) float64
	}{
		{describe("calls_received_total", "Calls received."), func(s stats.Snapshot) float64 { return float64(s.Received) }},
		{describe("calls_started_total", "Calls whose service began."), func(s stats.Snapshot) float64 { return float64(s.Started) }},
		{describe("retries_total", "Calls received that were a second or later attempt."), func(s stats.Snapshot) float64 { return float64(s.Retries) }},
		{describe("dials_total", "Connections accepted."), func(s stats.Snapshot) float64 { return float64(s.Dials) }},
		{describe("busy_seconds_total", "Time spent serving, summed over calls."), func(s stats.Snapshot) float64 { return s.BusyMs / 1000 }},
		{describe("residual_seconds_total", "Time spent serving callers that had given up."), func(s stats.Snapshot) float64 { return s.ResidualMs / 1000 }},
		{describe("duplicate_seconds_total", "Time spent serving requests that another attempt had won."), func(s stats.Snapshot) float64 { return s.DuplicateMs / 1000 }},
	}
)

// Describe implements [prometheus.Collector].
func (m metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		infoDesc, endedDesc, inflightDesc, maxDesc, overdueDesc, noticeDesc, noticeMaxDesc, lingerDesc, lingerMaxDesc,
	} {
		ch <- d
	}
	for _, c := range counters {
		ch <- c.desc
	}
}

// Collect implements [prometheus.Collector].
func (m metrics) Collect(ch chan<- prometheus.Metric) {
	s := m.server.Stats()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	send(infoDesc, prometheus.GaugeValue, 1, s.Scenario, strconv.FormatUint(s.Seed, 10))
	for _, c := range counters {
		send(c.desc, prometheus.CounterValue, c.value(s))
	}
	// Every outcome is there from the start, so that a rate of it can be taken from its first call on.
	for _, o := range stats.Outcomes() {
		n := s.Failed[string(o)]
		switch o {
		case stats.Finished:
			n = s.Finished
		case stats.Abandoned:
			n = s.Abandoned
		}
		send(endedDesc, prometheus.CounterValue, float64(n), string(o))
	}
	send(inflightDesc, prometheus.GaugeValue, float64(s.Inflight))
	send(maxDesc, prometheus.GaugeValue, float64(s.MaxInflight))
	send(overdueDesc, prometheus.GaugeValue, float64(s.MaxInflightOverdue))
	send(noticeMaxDesc, prometheus.GaugeValue, s.NoticeMaxMs/1000)
	send(lingerMaxDesc, prometheus.GaugeValue, s.LingerMaxMs/1000)
	ch <- prometheus.MustNewConstSummary(noticeDesc, s.NoticeCount, s.NoticeMeanMs/1000*float64(s.NoticeCount), nil)
	ch <- prometheus.MustNewConstSummary(lingerDesc, s.LingerCount, s.LingerMeanMs/1000*float64(s.LingerCount), nil)
}
