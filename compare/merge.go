package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Merged is the whole of a run that was divided into shards. The zero Merged is
// of none.
type Merged struct {
	// Shards are the files, in the order in which they were given.
	Shards []Shard
	// Metrics are those of the whole. See [Reader.Merge].
	Metrics Metrics
	// Duration is the time of the whole run; 0 if it is not known.
	Duration time.Duration
	// Refused says what of the whole cannot be known, and why.
	Refused []Warning

	checks map[checkID]*verdicts
}

// Shard is a file that was merged.
type Shard struct {
	File  string `json:"file"`
	Shape Shape  `json:"shape"`
}

// Merge is Merge of the zero [Reader].
func Merge(paths ...string) (Merged, error) { return Reader{}.Merge(paths...) }

// Merge puts the shards of one run together, such as the runs of the segments of
// --execution-segment. Paths are those of [Reader.Read]; run.json and snapshots
// are not looked at (one that is there without its summary is told in Refused), and
// Names not used.
//
//   - Counters and rates are added up, without error. The rate of a counter is
//     its sum over the time from the first begin to the last end; where a shard
//     does not tell when it was, over the time of the longest.
//   - A gauge has the least min and the greatest max. Its value is the latest;
//     where a shard does not tell its time, that of the last shard. So vus is that
//     of the shard with most, and not of all.
//   - Of a trend, count, avg, min and max are without error. Percentiles need the
//     samples, or sketches of them: where each shard is one of [Samples] or
//     [Sketches] they are those of all samples together, exact as long as these
//     were kept and else off by at most 0.1 %. Percentiles of plain summaries
//     cannot be put together: they are left out, and Refused says so. Without the
//     count of each shard avg is left out too, and so are counts.
//   - Thresholds are left out: they were judged on parts.
//
// An error is that a file cannot be read, since every sum would lack it, or that
// the shards are not of one run: a metric has two types, a run is there twice, or
// two segments overlap. A segment that no shard is is told in Refused. Only files
// of sketches know their segments.
func (r Reader) Merge(paths ...string) (Merged, error) {
	f := finder{known: map[string]*pair{}}
	for _, path := range paths {
		f.add(path)
	}
	if len(f.warnings) > 0 {
		return Merged{}, fmt.Errorf("merging: %v", f.warnings[0])
	}
	m := merger{parts: newAggregate(), out: Merged{Metrics: Metrics{}, checks: map[checkID]*verdicts{}}, plain: map[string]*plainMetric{}, seen: map[string]string{}}
	for _, p := range f.pairs {
		if p.summary == "" {
			m.out.Refused = append(m.out.Refused, warning(cmp.Or(p.run, p.snapshot),
				"no summary is beside it: what is merged lacks its run"))
			continue
		}
		c, err := r.content(p.summary)
		if err == nil {
			err = m.add(p.summary, c)
		}
		if err != nil {
			return Merged{}, fmt.Errorf("merging %s: %w", p.summary, reason(err))
		}
	}
	if len(m.out.Shards) < 2 {
		return Merged{}, fmt.Errorf("merging %s: %d shards: at least 2 are needed", strings.Join(paths, ", "), len(m.out.Shards))
	}
	m.finish()
	return m.out, nil
}

// merger puts shards together: those that can be merged without loss in parts,
// the others by their figures.
type merger struct {
	out     Merged
	parts   *aggregate
	plain   map[string]*plainMetric
	lossy   []string // files of plain summaries
	older   []string // files with calls, but no count of the requests that made them
	seconds float64  // of the longest of them
	seen    map[string]string
	// segments are those of the shards that name one.
	segments segments
}

// plainMetric is a metric of the plain summaries, added up.
type plainMetric struct {
	typ            MetricType
	contains, file string
	values         map[string]float64
	sum            float64 // of a trend
	uncounted      bool    // a trend of a shard has no count
}

// add takes a shard in.
func (m *merger) add(file string, c content) error {
	key, err := fingerprint(c)
	if err != nil {
		return err
	}
	if other, twice := m.seen[key]; twice {
		return fmt.Errorf("it is the same run as %s, which is merged already", other)
	}
	m.seen[key] = file
	for name, metric := range c.metrics {
		if other, t := m.typeOf(name); t != 0 && metric.Type != 0 && t != metric.Type {
			return fmt.Errorf("metric %s is a %v, and a %v in %s: they are not shards of one run", quoted(name), metric.Type, t, other)
		}
	}
	m.out.Shards = append(m.out.Shards, Shard{File: file, Shape: c.shape})
	_, counted := c.metrics[admitted]
	if calls, ok := c.metrics.value("resilience_downstream_calls", Counter, "count"); ok && calls > 0 && !counted {
		m.older = append(m.older, file)
	}
	if c.segment != "" {
		if err := m.segments.add(file, c.segment); err != nil {
			return err
		}
	}
	if c.parts != nil {
		return m.parts.merge(c.parts)
	}
	m.lossy = append(m.lossy, file)
	m.seconds = max(m.seconds, c.length())
	checks, err := readChecks(c.rootGroup)
	if err != nil {
		return err
	}
	for id, v := range checks {
		m.parts.check(id).add(v.passes, v.fails)
	}
	for name, metric := range c.metrics {
		p := m.plain[name]
		if p == nil {
			p = &plainMetric{typ: metric.Type, contains: metric.Contains, file: file, values: map[string]float64{}}
			m.plain[name] = p
		}
		p.add(metric)
	}
	return nil
}

// typeOf is the type that a metric has so far, and a file in which it has it.
func (m *merger) typeOf(name string) (string, MetricType) {
	if p := m.plain[name]; p != nil {
		return p.file, p.typ
	}
	if s := m.parts.series[name]; s != nil {
		return "a shard before it", s.typ
	}
	return "", 0
}

// fingerprint tells two shards apart: their times, or else all that they say.
func fingerprint(c content) (string, error) {
	if c.parts != nil {
		return fmt.Sprintf("%s %d %d", c.shape, c.parts.first, c.parts.last), nil
	}
	data, err := json.Marshal(c.metrics)
	return string(c.shape) + string(data), err
}

// length is the time of a plain summary's run in seconds, 0 if it is not known.
func (c content) length() float64 {
	if c.seconds > 0 {
		return c.seconds
	}
	for _, metric := range c.metrics {
		count, rate := metric.Values["count"], metric.Values["rate"]
		if metric.Type == Counter && count > 0 && rate > 0 {
			return count / rate
		}
	}
	return 0
}

// add takes a shard's metric in.
func (p *plainMetric) add(m Metric) {
	sum := func(keys ...string) {
		for _, key := range keys {
			if v, ok := m.Values[key]; ok {
				p.values[key] += v
			}
		}
	}
	switch count, counted := m.Values["count"]; p.typ {
	case Counter:
		sum("count")
	case Rate:
		sum("passes", "fails")
	case Gauge:
		p.extremes(m.Values)
		if v, ok := m.Values["value"]; ok {
			p.values["value"] = v
		}
	case Trend:
		mean, ok := m.Values["avg"]
		if counted && count == 0 {
			break
		}
		sum("count")
		p.extremes(m.Values)
		p.sum += mean * count
		p.uncounted = p.uncounted || !counted || !ok
	}
}

func (p *plainMetric) extremes(values map[string]float64) {
	for key, better := range map[string]func(a, b float64) bool{
		"min": func(a, b float64) bool { return a < b },
		"max": func(a, b float64) bool { return a > b },
	} {
		v, ok := values[key]
		if old, there := p.values[key]; ok && (!there || better(v, old)) {
			p.values[key] = v
		}
	}
}

// finish makes the metrics of the whole out of what was added.
func (m *merger) finish() {
	seconds := max(m.seconds, m.parts.seconds())
	m.out.Duration = time.Duration(seconds * float64(time.Second))
	m.out.checks = m.parts.checks
	m.out.Metrics = m.parts.metrics()
	var refused []string
	for name, p := range m.plain {
		if s := m.parts.series[name]; s != nil {
			if values := s.values(0); values != nil {
				p.add(Metric{Type: s.typ, Values: values})
			}
		}
		p.settle()
		if p.typ == Trend {
			refused = append(refused, name)
		}
		m.out.Metrics[name] = Metric{Type: p.typ, Contains: p.contains, Values: p.values}
	}
	if _, ok := m.out.Metrics[admitted]; ok && len(m.older) > 0 {
		delete(m.out.Metrics, admitted)
		m.out.Refused = append(m.out.Refused, warning(m.older[0],
			"it has calls and no %s, which is refused: that of the other shards is not that of the whole", admitted))
	}
	for _, metric := range m.out.Metrics {
		if count, ok := metric.Values["count"]; ok && metric.Type == Counter && seconds > 0 {
			metric.Values["rate"] = count / seconds
		}
	}
	if missing := m.segments.missing(); missing != "" && len(m.segments) == len(m.out.Shards) {
		m.out.Refused = append(m.out.Refused, warning(m.out.Shards[0].File,
			"the whole run is refused: no shard is the segment %s; what is merged is a part of it", missing))
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		m.out.Refused = append(m.out.Refused, warning(m.lossy[0],
			"a plain summary: the percentiles of %s are refused, for those of a whole do not follow from those of its parts; merge files of --summary-sketches or -o json",
			some(refused)))
	}
}

// settle sets what follows from sums, and takes out what does not.
func (p *plainMetric) settle() {
	count, counted := p.values["count"]
	switch p.typ {
	case Rate:
		p.values = rateOf(p.values["passes"], p.values["fails"])
	case Trend:
		if p.uncounted || !counted {
			delete(p.values, "count")
			break
		}
		p.values["avg"] = p.sum / count
	}
}

// some names a few of many.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return list(names)
	}
	return list(append(slices.Clone(names[:few]), fmt.Sprintf("%d more", len(names)-few)))
}

// MarshalJSON writes the whole as the object of handleSummary, which every reader
// of that reads; what was merged stands under "merged".
func (m Merged) MarshalJSON() ([]byte, error) {
	type metric struct {
		Type     string             `json:"type"`
		Contains string             `json:"contains"`
		Values   map[string]float64 `json:"values"`
	}
	metrics := make(map[string]metric, len(m.Metrics))
	stats := map[string]bool{}
	for name, of := range m.Metrics {
		if of.Type == 0 {
			continue // --summary-export with nothing in it
		}
		values := maps.Clone(of.Values)
		if share, ok := values["value"]; ok && of.Type == Rate {
			delete(values, "value")
			values["rate"] = share
		}
		if of.Type == Trend {
			for key := range values {
				stats[key] = true
			}
		}
		contains := of.Contains
		if contains == "" {
			contains = "default"
		}
		metrics[name] = metric{of.Type.String(), contains, values}
	}
	return json.Marshal(struct {
		RootGroup *group `json:"root_group"`
		Options   struct {
			Stats []string `json:"summaryTrendStats"`
		} `json:"options"`
		State struct {
			Duration float64 `json:"testRunDurationMs"`
		} `json:"state"`
		Metrics map[string]metric `json:"metrics"`
		Merged  []Shard           `json:"merged"`
	}{
		RootGroup: rootGroup(m.checks),
		Options: struct {
			Stats []string `json:"summaryTrendStats"`
		}{slices.Sorted(maps.Keys(stats))},
		State: struct {
			Duration float64 `json:"testRunDurationMs"`
		}{float64(m.Duration) / float64(time.Millisecond)},
		Metrics: metrics,
		Merged:  m.Shards,
	})
}

// Encode is the whole as a file: its JSON, indented, with a newline at the end.
func (m Merged) Encode() ([]byte, error) {
	if len(m.Shards) == 0 {
		return nil, errors.New("nothing was merged")
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, data, "", "  ")
	b.WriteByte('\n')
	return b.Bytes(), err
}
