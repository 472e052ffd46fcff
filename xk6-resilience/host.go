package resilience

import (
	"context"
	"fmt"
	"net/http"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/jsmodule"
	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/metrics"
)

// host shows a VU of k6 to the module.
type host struct{ vu modules.VU }

var _ jsmodule.Host = host{}

// Runtime is the VU's JS runtime.
func (h host) Runtime() *sobek.Runtime { return h.vu.Runtime() }

// Context ends when the VU must stop what it does.
func (h host) Context() context.Context { return h.vu.Context() }

// InitContext says whether the script's init code is running: k6 has no state
// for the VU then.
func (h host) InitContext() bool { return h.vu.State() == nil }

// VU is the VU's number in this k6 process.
func (h host) VU() uint64 {
	if state := h.vu.State(); state != nil {
		return state.VUID
	}
	return 0
}

// Callback reserves a place on the VU's event loop.
func (h host) Callback() func(task func() error) { return h.vu.RegisterCallback() }

// Logger writes the script's log.
func (h host) Logger() logrus.FieldLogger {
	if state := h.vu.State(); state != nil {
		return state.Logger
	}
	return h.vu.InitEnv().Logger
}

// Transport makes calls as k6/http does: with its connections, hosts, TLS
// settings and count of bytes.
func (h host) Transport() http.RoundTripper {
	if state := h.vu.State(); state != nil {
		return state.Transport
	}
	return nil
}

// NewMetric registers a metric in the init context.
func (h host) NewMetric(name string, kind jsmodule.MetricKind, isTime bool) (jsmodule.Metric, error) {
	env := h.vu.InitEnv()
	if env == nil {
		return nil, fmt.Errorf("register metric %q: only the init context can", name)
	}
	types := map[jsmodule.MetricKind]metrics.MetricType{
		jsmodule.Counter: metrics.Counter, jsmodule.Gauge: metrics.Gauge,
		jsmodule.Rate: metrics.Rate, jsmodule.Trend: metrics.Trend,
	}
	typ, ok := types[kind]
	if !ok {
		return nil, fmt.Errorf("register metric %q: unknown kind %d", name, kind)
	}
	contains := metrics.Default
	if isTime {
		contains = metrics.Time
	}
	m, err := env.Registry.NewMetric(name, typ, contains)
	if err != nil {
		return nil, err // and no nil pointer in an interface
	}
	return m, nil
}

// snapshot is what Push needs of the VU, taken on the VU's own thread.
type snapshot struct {
	metrics.TagsAndMeta
	samples chan<- metrics.SampleContainer
}

// Tags is a snapshot of the VU's tags and metadata with pairs of key and value
// added to the tags. In the init context there are none to take.
func (h host) Tags(pairs ...string) jsmodule.Tags {
	state := h.vu.State()
	if state == nil {
		return nil
	}
	s := snapshot{state.Tags.GetCurrentValues(), state.Samples}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.Tags = s.Tags.With(pairs[i], pairs[i+1])
	}
	return s
}

// Push emits samples together, unless ctx has ended. It drops those whose
// metric or tags are not from this host.
func (h host) Push(ctx context.Context, samples ...jsmodule.Sample) {
	var to chan<- metrics.SampleContainer
	batch := make(metrics.Samples, 0, len(samples))
	for _, s := range samples {
		metric, known := s.Metric.(*metrics.Metric)
		of, taken := s.Tags.(snapshot)
		if !known || !taken {
			continue
		}
		to = of.samples
		batch = append(batch, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: metric, Tags: of.Tags},
			Time:       s.Time,
			Value:      s.Value,
			Metadata:   of.Metadata,
		})
	}
	if len(batch) > 0 {
		metrics.PushIfNotDone(ctx, to, batch)
	}
}
