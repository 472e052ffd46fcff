package vu

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/jsmodule"
	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
)

// Runtime is the JS runtime.
func (v *VU) Runtime() *sobek.Runtime { return v.rt }

// Context ends when the VU must stop what it does.
func (v *VU) Context() context.Context { return v.ctx }

// InitContext says whether the script's init code is running.
func (v *VU) InitContext() bool { return v.init }

// ID is the VU's number.
func (v *VU) ID() uint64 { return v.id }

// Iteration counts the VU's iterations from 0; -1 before the first.
func (v *VU) Iteration() int64 { return v.iteration }

// Callback reserves a place on the event loop.
func (v *VU) Callback() func(task func() error) {
	use := v.loop.reserve()
	return func(task func() error) {
		use(func() error {
			if err := task(); err != nil {
				return err
			}
			// Promises settle by jobs that run when the outermost call into JS
			// returns; a task may settle one without any such call.
			if _, err := v.flush(sobek.Undefined()); err != nil {
				return err
			}
			return v.unhandled(nil)
		})
	}
}

// Logger writes the script's log.
func (v *VU) Logger() logrus.FieldLogger { return v.log }

// Warn logs a warning that may come up in every iteration.
func (v *VU) Warn(key, message string) { v.shared.Repeats.Warn(key, message) }

// Transport makes HTTP calls; nil in the init context.
func (v *VU) Transport() http.RoundTripper {
	if v.init {
		return nil
	}
	return v.transport
}

// Registry is where metrics are registered.
func (v *VU) Registry() *metrics.Registry { return v.shared.Registry }

// Builtin are the runner's own metrics.
func (v *VU) Builtin() *metrics.Builtin { return v.shared.Builtin }

// Tags are the tags of what is sampled now.
func (v *VU) Tags() *metrics.TagSet { return v.tags }

// SetTags replaces the tags of what is sampled from now on.
func (v *VU) SetTags(t *metrics.TagSet) { v.tags = t }

// systemTag is tags with a system tag, if the run's samples get it.
func (v *VU) systemTag(tags *metrics.TagSet, name, value string) *metrics.TagSet {
	return v.shared.Settings.SystemTags.Add(tags, name, value)
}

// Push emits samples, unless ctx has ended.
func (v *VU) Push(ctx context.Context, samples ...metrics.Sample) { v.buffer.Push(ctx, samples...) }

// Place is where the VU is in the run.
func (v *VU) Place() modules.Place {
	p := v.place
	p.IDInTest = v.idInTest
	return p
}

// Run is the run that the VU is part of.
func (v *VU) Run() modules.Run { return v.shared.Run }

// Settings are the run's options that modules look at.
func (v *VU) Settings() *modules.Settings { return v.shared.Settings }

// Host shows a virtual user to k6/x/resilience.
type Host struct{ of modules.VU }

var _ jsmodule.Host = Host{}

// NewHost returns the host of a virtual user.
func NewHost(v modules.VU) Host { return Host{of: v} }

// Runtime is the VU's JS runtime.
func (h Host) Runtime() *sobek.Runtime { return h.of.Runtime() }

// Context ends when the VU must stop what it does.
func (h Host) Context() context.Context { return h.of.Context() }

// InitContext says whether the script's init code is running.
func (h Host) InitContext() bool { return h.of.InitContext() }

// VU is the virtual user's number.
func (h Host) VU() uint64 { return h.of.ID() }

// Callback reserves a place on the VU's event loop.
func (h Host) Callback() func(task func() error) { return h.of.Callback() }

// Logger writes the script's log.
func (h Host) Logger() logrus.FieldLogger { return h.of.Logger() }

// Transport makes the VU's HTTP calls.
func (h Host) Transport() http.RoundTripper { return h.of.Transport() }

// NewMetric registers a metric in the init context.
func (h Host) NewMetric(name string, kind jsmodule.MetricKind, isTime bool) (jsmodule.Metric, error) {
	if !h.InitContext() {
		return nil, fmt.Errorf("register metric %q: only the init context can", name)
	}
	kinds := map[jsmodule.MetricKind]metrics.Kind{
		jsmodule.Counter: metrics.Counter, jsmodule.Gauge: metrics.Gauge,
		jsmodule.Rate: metrics.Rate, jsmodule.Trend: metrics.Trend,
	}
	k, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("register metric %q: unknown kind %d", name, kind)
	}
	contains := metrics.Default
	if isTime {
		contains = metrics.Time
	}
	m, err := h.of.Registry().Register(name, k, contains)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Tags is a snapshot of the current tags with pairs of key and value added.
func (h Host) Tags(pairs ...string) jsmodule.Tags {
	t := h.of.Tags()
	for i := 0; i+1 < len(pairs); i += 2 {
		t = t.With(pairs[i], pairs[i+1])
	}
	return t
}

// Push emits samples, unless ctx has ended. Samples of a metric that did not
// come from NewMetric are dropped.
func (h Host) Push(ctx context.Context, samples ...jsmodule.Sample) {
	if ctx.Err() != nil {
		return
	}
	out := make([]metrics.Sample, 0, 16)
	for _, s := range samples {
		m, ok := s.Metric.(*metrics.Metric)
		if !ok {
			continue
		}
		tags, ok := s.Tags.(*metrics.TagSet)
		if !ok {
			tags = h.of.Registry().Root()
		}
		at := s.Time
		if at.IsZero() {
			at = time.Now()
		}
		out = append(out, metrics.Sample{Metric: m, Tags: tags, Value: s.Value, Time: at.UnixNano()})
	}
	h.of.Push(ctx, out...)
}
