package metrics

import "fmt"

// Builtin are the metrics that the runner itself emits, by k6's names.
type Builtin struct {
	VUs, VUsMax       *Metric
	Iterations        *Metric
	IterationDuration *Metric
	DroppedIterations *Metric

	Checks        *Metric
	GroupDuration *Metric

	HTTPReqs              *Metric
	HTTPReqFailed         *Metric
	HTTPReqDuration       *Metric
	HTTPReqBlocked        *Metric
	HTTPReqConnecting     *Metric
	HTTPReqTLSHandshaking *Metric
	HTTPReqSending        *Metric
	HTTPReqWaiting        *Metric
	HTTPReqReceiving      *Metric

	DataSent, DataReceived *Metric
}

// NewBuiltin registers the runner's own metrics. It fails only where one of
// the names is taken by another kind.
func NewBuiltin(r *Registry) (*Builtin, error) {
	b := &Builtin{}
	for _, d := range []struct {
		to       **Metric
		name     string
		kind     Kind
		contains Contains
	}{
		{&b.VUs, "vus", Gauge, Default},
		{&b.VUsMax, "vus_max", Gauge, Default},
		{&b.Iterations, "iterations", Counter, Default},
		{&b.IterationDuration, "iteration_duration", Trend, Time},
		{&b.DroppedIterations, "dropped_iterations", Counter, Default},
		{&b.Checks, "checks", Rate, Default},
		{&b.GroupDuration, "group_duration", Trend, Time},
		{&b.HTTPReqs, "http_reqs", Counter, Default},
		{&b.HTTPReqFailed, "http_req_failed", Rate, Default},
		{&b.HTTPReqDuration, "http_req_duration", Trend, Time},
		{&b.HTTPReqBlocked, "http_req_blocked", Trend, Time},
		{&b.HTTPReqConnecting, "http_req_connecting", Trend, Time},
		{&b.HTTPReqTLSHandshaking, "http_req_tls_handshaking", Trend, Time},
		{&b.HTTPReqSending, "http_req_sending", Trend, Time},
		{&b.HTTPReqWaiting, "http_req_waiting", Trend, Time},
		{&b.HTTPReqReceiving, "http_req_receiving", Trend, Time},
		{&b.DataSent, "data_sent", Counter, Data},
		{&b.DataReceived, "data_received", Counter, Data},
	} {
		m, err := r.Register(d.name, d.kind, d.contains)
		if err != nil {
			return nil, fmt.Errorf("register the built-in metrics: %w", err)
		}
		*d.to = m
	}
	return b, nil
}
