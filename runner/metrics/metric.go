package metrics

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind is how a metric's samples are aggregated.
type Kind uint8

// The kinds of metrics.
const (
	Counter Kind = iota // the sum of the samples
	Gauge               // the last sample, with the least and the greatest
	Rate                // the share of samples that are not zero
	Trend               // the distribution of the samples
)

// String is the kind's name in k6's outputs: counter, gauge, rate or trend.
func (k Kind) String() string {
	switch k {
	case Counter:
		return "counter"
	case Gauge:
		return "gauge"
	case Rate:
		return "rate"
	case Trend:
		return "trend"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Contains is what a metric's values are.
type Contains uint8

// The contents of metrics.
const (
	Default Contains = iota // plain numbers
	Time                    // milliseconds
	Data                    // bytes
)

// String is the content's name in k6's outputs: default, time or data.
func (c Contains) String() string {
	switch c {
	case Time:
		return "time"
	case Data:
		return "data"
	}
	return "default"
}

// Metric is a registered metric or, when Parent is set, the part of one whose
// samples carry certain tags. Its sink belongs to the [Engine]: read it only
// inside of [Engine.View].
type Metric struct {
	Name     string
	Kind     Kind
	Contains Contains

	// Parent is the metric that a submetric is a part of; nil for a metric.
	Parent *Metric
	// Filter is what the samples of a submetric carry; nil for a metric.
	Filter []Tag

	sink Sink
	subs []*Metric
	keep bool
}

// Sink is the metric's aggregate.
func (m *Metric) Sink() Sink { return m.sink }

// Shown says whether the metric belongs in a summary: it has samples, or has
// been kept by [Metric.Keep].
func (m *Metric) Shown() bool { return m.keep || !m.sink.Empty() }

// Submetrics are the parts of the metric that [Registry.Find] has made. Like
// Find, do not call it while others call Find.
func (m *Metric) Submetrics() []*Metric { return m.subs }

// Keep shows the metric, and the one it is a part of, even without samples.
func (m *Metric) Keep() {
	m.keep = true
	if m.Parent != nil {
		m.Parent.keep = true
	}
}

func (m *Metric) add(s *Sample) {
	m.sink.Add(s.Value, s.Time)
	for _, sub := range m.subs {
		if s.Tags.Includes(sub.Filter) {
			sub.sink.Add(s.Value, s.Time)
		}
	}
}

// A name is a letter or an underscore and then letters, digits and
// underscores: 2 to 129 bytes in all, which is k6's rule.
var nameRule = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{1,128}$`)

// Registry holds the metrics of a run by name. It is safe for concurrent use.
type Registry struct {
	mu      sync.RWMutex
	metrics map[string]*Metric
	tags    tagTable
	root    *TagSet
}

// NewRegistry returns a registry without metrics.
func NewRegistry() *Registry {
	r := &Registry{metrics: make(map[string]*Metric)}
	r.root = r.tags.intern(nil)
	return r
}

// Root is the empty set that all tag sets of this registry come from.
func (r *Registry) Root() *TagSet { return r.root }

// Register adds a metric, or returns the one of that name. It fails for an
// invalid name and where the name has another kind or content already.
func (r *Registry) Register(name string, kind Kind, contains Contains) (*Metric, error) {
	if !nameRule.MatchString(name) {
		return nil, fmt.Errorf("invalid metric name %q: want a letter or an underscore, then 1 to 128 letters, digits and underscores", name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.metrics[name]
	switch {
	case !ok:
		m = &Metric{Name: name, Kind: kind, Contains: contains, sink: NewSink(kind)}
		r.metrics[name] = m
	case m.Kind != kind:
		return nil, fmt.Errorf("metric %q already exists as a %s, not a %s", name, m.Kind, kind)
	case m.Contains != contains:
		return nil, fmt.Errorf("metric %q already exists with values of type %s, not %s", name, m.Contains, contains)
	}
	return m, nil
}

// Get is the metric of that name, or nil. It does not look for submetrics.
func (r *Registry) Get(name string) *Metric {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.metrics[name]
}

// Find is the metric that a threshold's key names: `metric` or
// `metric{tag:value,…}`. A submetric is made on first use, so call Find for
// them before samples flow. It fails for an unknown metric and for a filter
// that cannot be read.
func (r *Registry) Find(key string) (*Metric, error) {
	name, filter, isSub, err := SplitKey(key)
	if err != nil {
		return nil, err
	}
	m := r.Get(name)
	if m == nil {
		return nil, fmt.Errorf("no metric %q in the script", name)
	}
	if !isSub {
		return m, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, sub := range m.subs {
		if sub.Name == key {
			return sub, nil
		}
	}
	sub := &Metric{Name: key, Kind: m.Kind, Contains: m.Contains, Parent: m, Filter: filter, sink: NewSink(m.Kind)}
	m.subs = append(m.subs, sub)
	return sub, nil
}

// All returns every metric, by name, and after each its submetrics, by name.
func (r *Registry) All() []*Metric {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]*Metric, 0, len(r.metrics))
	for _, name := range slices.Sorted(maps.Keys(r.metrics)) {
		m := r.metrics[name]
		out = append(out, m)
		out = append(out, slices.SortedFunc(slices.Values(m.subs), func(a, b *Metric) int { return strings.Compare(a.Name, b.Name) })...)
	}
	return out
}

// SplitKey takes a threshold's key apart: the metric's name and, if isSub, the
// tags that its samples must carry.
func SplitKey(key string) (name string, filter []Tag, isSub bool, err error) {
	open := strings.IndexByte(key, '{')
	if open < 0 {
		if strings.IndexByte(key, '}') >= 0 {
			return "", nil, false, fmt.Errorf("metric %q has a closing brace without an opening one", key)
		}
		return key, nil, false, nil
	}
	if !strings.HasSuffix(key, "}") {
		return "", nil, false, fmt.Errorf("metric %q must end with a closing brace", key)
	}
	body := key[open+1 : len(key)-1]
	if strings.TrimSpace(body) == "" {
		return "", nil, false, fmt.Errorf("metric %q names no tags between its braces", key)
	}
	for _, part := range strings.Split(body, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		k, v, ok := strings.Cut(part, ":")
		k, v = unquote(k), unquote(v)
		if !ok || k == "" || v == "" {
			return "", nil, false, fmt.Errorf("metric %q: %q is not of the form tag:value", key, part)
		}
		filter = append(filter, Tag{Key: k, Value: v})
	}
	if len(filter) == 0 {
		return "", nil, false, fmt.Errorf("metric %q names no tags between its braces", key)
	}
	return key[:open], filter, true, nil
}

func unquote(s string) string { return strings.Trim(strings.TrimSpace(s), `"'`) }
