package metrics

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// Sample is one measurement.
type Sample struct {
	Metric *Metric
	Tags   *TagSet
	Value  float64
	Time   int64 // nanoseconds since 1970
}

// Buffer takes the samples of one producer until the engine collects them. It
// is safe for concurrent use, and cheap as long as one goroutine pushes.
type Buffer struct {
	mu      sync.Mutex
	samples []Sample
	spare   []Sample
}

// Push adds samples, unless ctx has ended.
func (b *Buffer) Push(ctx context.Context, samples ...Sample) {
	if ctx.Err() != nil {
		return
	}
	b.mu.Lock()
	b.samples = append(b.samples, samples...)
	b.mu.Unlock()
}

// take hands the samples over; give returns the slice for reuse.
func (b *Buffer) take() []Sample {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.samples) == 0 {
		return nil
	}
	out := b.samples
	b.samples, b.spare = b.spare[:0], nil
	return out
}

func (b *Buffer) give(s []Sample) {
	const most = 1 << 14 // a burst's memory goes back to the collector
	if cap(s) > most {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spare == nil {
		b.spare = s[:0]
	}
}

// Check is how often one check of a group passed and failed.
type Check struct {
	Group, Name   string // Group is the path of names, `::a::b`, or empty
	Passes, Fails int64
}

// Output takes the samples of a run in addition to the sinks.
type Output interface {
	// Add gets samples as the engine collects them, in each producer's order. It
	// is called by one goroutine at a time, never by one that pushes samples,
	// and must not keep the slice.
	Add(samples []Sample)
}

// Engine collects the samples of all buffers into the metrics' sinks. A sample
// that is not a number is dropped.
type Engine struct {
	mu       sync.Mutex // sinks, checks
	registry *Registry
	checks   []*Check
	checkAt  map[[2]string]*Check
	checksOf *Metric
	outputs  []Output

	bufMu   sync.Mutex
	buffers []*Buffer

	stop, done chan struct{}
}

// NewEngine returns an engine for the registry's metrics. It collects only
// after Start.
func NewEngine(r *Registry) *Engine {
	return &Engine{registry: r, checkAt: make(map[[2]string]*Check), stop: make(chan struct{}), done: make(chan struct{})}
}

// CountChecks also counts the samples of this rate for each group and name,
// their tags group and check. Call it before Start.
func (e *Engine) CountChecks(m *Metric) { e.checksOf = m }

// Attach hands all samples to an output, too. Call it before Start.
func (e *Engine) Attach(o Output) { e.outputs = append(e.outputs, o) }

// NewBuffer returns a buffer that the engine collects from.
func (e *Engine) NewBuffer() *Buffer {
	b := &Buffer{}
	e.bufMu.Lock()
	e.buffers = append(e.buffers, b)
	e.bufMu.Unlock()
	return b
}

// Start collects every interval, on a goroutine of its own, until Stop.
func (e *Engine) Start(interval time.Duration) {
	go func() {
		defer close(e.done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				e.mu.Lock()
				e.collect()
				e.mu.Unlock()
			case <-e.stop:
				return
			}
		}
	}()
}

// Stop ends the collecting and takes in what is left. Call it once, after
// Start.
func (e *Engine) Stop() {
	close(e.stop)
	<-e.done
	e.View(func() {})
}

// View calls f with the sinks up to date and nobody else using them. f must
// not call View.
func (e *Engine) View(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.collect()
	f()
}

// Checks are the checks in the order in which they were first seen. Call it
// inside of View.
func (e *Engine) Checks() []Check {
	out := make([]Check, len(e.checks))
	for i, c := range e.checks {
		out[i] = *c
	}
	return out
}

func (e *Engine) collect() {
	e.bufMu.Lock()
	buffers := e.buffers
	e.bufMu.Unlock()
	for _, b := range buffers {
		taken := b.take()
		samples := slices.DeleteFunc(taken, func(s Sample) bool { return math.IsNaN(s.Value) })
		for i := range samples {
			s := &samples[i]
			s.Metric.add(s)
			if s.Metric == e.checksOf {
				e.count(s)
			}
		}
		if len(samples) > 0 {
			for _, o := range e.outputs {
				o.Add(samples)
			}
		}
		b.give(taken)
	}
}

func (e *Engine) count(s *Sample) {
	group, _ := s.Tags.Get("group")
	name, ok := s.Tags.Get("check")
	if !ok {
		return
	}
	c := e.checkAt[[2]string{group, name}]
	if c == nil {
		c = &Check{Group: group, Name: name}
		e.checkAt[[2]string{group, name}] = c
		e.checks = append(e.checks, c)
	}
	if s.Value != 0 {
		c.Passes++
	} else {
		c.Fails++
	}
}
