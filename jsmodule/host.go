// Package jsmodule is the JavaScript face of the resilience executors: the
// module k6/x/resilience, written on plain sobek. A JS engine (the built-in
// runner, or k6 through xk6-resilience) gives it a [Host] and gets the
// module's exports back.
package jsmodule

import (
	"context"
	"net/http"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
)

// MetricKind is how a metric's samples are aggregated, in k6's terms.
type MetricKind uint8

// The kinds the module registers.
const (
	Counter MetricKind = iota // the sum of the samples
	Gauge                     // the last sample, with the least and the greatest
	Rate                      // the share of samples that are not zero
	Trend                     // the distribution of the samples
)

// Metric is a host's own handle of a registered metric. The module only
// hands it back.
type Metric any

// Tags is a host's own immutable set of tags. The module only hands it back.
type Tags any

// Sample is one measurement. Trends of time are in milliseconds.
type Sample struct {
	Metric Metric
	Time   time.Time
	Value  float64
	Tags   Tags
}

// Host is what a JS engine offers to the module: one Host a VU. Except for
// Push, its methods are called on the VU's own goroutine only, and the module
// never touches the Runtime from another.
type Host interface {
	// Runtime is the VU's JS runtime.
	Runtime() *sobek.Runtime

	// Context ends when the VU must stop what it does. In the init context it
	// is never nil but may be one that does not end. Its deadline, if it has
	// one, is not told to requests.
	Context() context.Context

	// InitContext says whether the script's init code is running: metrics can
	// be registered only then, and calls can be made only outside of it.
	InitContext() bool

	// VU is the VU's number in this instance, from 1; 0 in the init context
	// and in setup and teardown.
	VU() uint64

	// Callback reserves a place on the VU's event loop, which does not finish
	// before the returned function was called. That function may be called
	// from any goroutine, exactly once; it queues the task to run on the VU's
	// goroutine.
	Callback() func(task func() error)

	// Logger writes the script's log.
	Logger() logrus.FieldLogger

	// Transport makes the VU's HTTP calls. Nil in the init context.
	Transport() http.RoundTripper

	// NewMetric registers a metric, or returns the one that is registered
	// under this name already. isTime says that its values are milliseconds.
	// It fails where the name is taken by a metric of another kind, and
	// outside of the init context.
	NewMetric(name string, kind MetricKind, isTime bool) (Metric, error)

	// Tags is a snapshot of the VU's current tags (scenario, group, the
	// script's own) with these added: key, value, key, value, ….
	Tags(pairs ...string) Tags

	// Push emits samples. It may be called from any goroutine. What is pushed
	// after ctx has ended is dropped.
	Push(ctx context.Context, samples ...Sample)
}
