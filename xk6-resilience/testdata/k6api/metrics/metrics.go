// Package metrics is k6's samples, their metrics and their tags.
package metrics

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"
)

// MetricType is how a metric's samples are aggregated.
type MetricType int

// The types.
const (
	Counter MetricType = iota
	Gauge
	Trend
	Rate
)

// ValueType is what a metric's values are.
type ValueType int

// The types of values.
const (
	Default ValueType = iota
	Time              // milliseconds
	Data              // bytes
)

// Metric is a registered one.
type Metric struct {
	Name     string
	Type     MetricType
	Contains ValueType
}

// Registry holds the metrics of a test. It may be used by many goroutines at
// once.
type Registry struct {
	mu      sync.Mutex
	metrics map[string]*Metric
}

// NewRegistry is one with no metric.
func NewRegistry() *Registry { return &Registry{metrics: make(map[string]*Metric)} }

// NewMetric registers a metric, or returns the one of this name, which must be
// of the same types.
func (r *Registry) NewMetric(name string, typ MetricType, value ...ValueType) (*Metric, error) {
	contains := Default
	if len(value) > 0 {
		contains = value[0]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.metrics[name]
	if !ok {
		m = &Metric{Name: name, Type: typ, Contains: contains}
		r.metrics[name] = m
	}
	if m.Type != typ || m.Contains != contains {
		return nil, fmt.Errorf("metric %q is registered with another type", name)
	}
	return m, nil
}

// Get returns the metric of this name, or nil.
func (r *Registry) Get(name string) *Metric {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.metrics[name]
}

// RootTagSet is the set with no tag in it.
func (r *Registry) RootTagSet() *TagSet { return &TagSet{} }

// TagSet is a set of tags that never changes.
type TagSet struct{ tags map[string]string }

// With is the set with one more tag.
func (s *TagSet) With(name, value string) *TagSet {
	tags := s.Map()
	tags[name] = value
	return &TagSet{tags}
}

// Get is the value of a tag, and whether there is one.
func (s *TagSet) Get(name string) (string, bool) {
	value, ok := s.tags[name]
	return value, ok
}

// Map is a copy of the tags.
func (s *TagSet) Map() map[string]string {
	tags := make(map[string]string, len(s.tags)+1)
	maps.Copy(tags, s.tags)
	return tags
}

// TagsAndMeta are the tags of a sample and its metadata, which may be nil.
type TagsAndMeta struct {
	Tags     *TagSet
	Metadata map[string]string
}

// SetTag adds a tag.
func (t *TagsAndMeta) SetTag(name, value string) { t.Tags = t.Tags.With(name, value) }

// SetMetadata adds an entry to the metadata.
func (t *TagsAndMeta) SetMetadata(name, value string) {
	if t.Metadata == nil {
		t.Metadata = make(map[string]string)
	}
	t.Metadata[name] = value
}

// Clone is a copy that shares nothing which can change.
func (t TagsAndMeta) Clone() TagsAndMeta {
	return TagsAndMeta{Tags: t.Tags, Metadata: maps.Clone(t.Metadata)}
}

// TimeSeries is a metric with one set of tags.
type TimeSeries struct {
	Metric *Metric
	Tags   *TagSet
}

// Sample is one measurement.
type Sample struct {
	TimeSeries
	Time     time.Time
	Value    float64
	Metadata map[string]string
}

// SampleContainer is what goes to the outputs.
type SampleContainer interface {
	GetSamples() []Sample
}

// Samples go to the outputs together.
type Samples []Sample

// GetSamples are the samples themselves.
func (s Samples) GetSamples() []Sample { return s }

// PushIfNotDone hands over what was measured, unless ctx has ended, and says
// whether it did.
func PushIfNotDone(ctx context.Context, to chan<- SampleContainer, measured SampleContainer) bool {
	if ctx.Err() != nil {
		return false
	}
	to <- measured
	return true
}
