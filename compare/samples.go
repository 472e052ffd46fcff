package compare

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"
)

const (
	// maxLine bounds a line of a stream of samples, in bytes.
	maxLine = 1 << 20
	// maxTags is how many sets of tags are remembered at once.
	maxTags = 4096
)

// startsSamples says whether a stream of samples begins, of which head is the
// beginning.
func startsSamples(head []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte("\n"))
	for _, prefix := range []string{`{"metric":"`, `{"type":"Metric"`, `{"type":"Point"`} {
		if bytes.HasPrefix(line, []byte(prefix)) {
			return true
		}
	}
	var first struct{ Type, Metric string }
	err := json.Unmarshal(line, &first)
	return err == nil && first.Metric != "" && (first.Type == "Metric" || first.Type == "Point")
}

// samples reads a stream of samples.
type samples struct {
	*aggregate
	tags  map[string]*tagSet // by their JSON
	clock clock
	start int64 // of the earliest iteration
}

// tagSet is what the tags of a sample mean.
type tagSet struct {
	tags map[string]string
	// in are the sub-metrics that samples with these tags belong to, for the
	// metrics that were asked for.
	in map[*series][]*series
	// check is the check that a sample of the metric checks was.
	check *verdicts
}

// readSamples adds up a stream of samples in memory that does not grow with its
// length. The time of the run is not in it: it is taken to be that from the
// begin of the first iteration, or the first sample, to the last sample.
func readSamples(in *bufio.Reader) (*aggregate, error) {
	s := &samples{aggregate: newAggregate(), tags: map[string]*tagSet{}}
	var long []byte
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, line...); len(long) > maxLine {
				return nil, fmt.Errorf("line %d is longer than %d bytes", n, maxLine)
			}
			line, err = in.ReadSlice('\n')
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = long[:0]
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if wrong := s.line(line); wrong != nil {
			return nil, fmt.Errorf("line %d: %w", n, wrong)
		}
		if err != nil {
			break
		}
	}
	if len(s.series) == 0 {
		return nil, errors.New("no metric is in the stream")
	}
	if s.start != 0 {
		s.first = min(s.first, s.start)
	}
	return s.aggregate, nil
}

func (s *samples) line(line []byte) error {
	line = bytes.TrimRight(line, "\r\n")
	p, ok := cutPoint(line)
	if !ok {
		return s.unusual(line)
	}
	at, ok := s.clock.read(p.time)
	if !ok {
		return s.unusual(line)
	}
	metric := s.series[string(p.metric)]
	if metric == nil {
		return s.unusual(line)
	}
	tags := s.tags[string(p.tags)]
	if tags == nil {
		if tags = s.learn(p.tags); tags == nil {
			return s.unusual(line)
		}
	}
	s.point(metric, tags, p.value, at)
	return nil
}

// learn reads and remembers the end of a line from its tags on; nil if it is not
// in the usual form.
func (s *samples) learn(end []byte) *tagSet {
	inner, ok := bytes.CutSuffix(end, []byte("}"))
	var o object
	if !ok || json.Unmarshal(append([]byte(`{"tags":`), inner...), &o) != nil {
		return nil
	}
	for _, m := range o {
		if m.name != "tags" && m.name != "metadata" {
			return nil
		}
	}
	tags, err := s.tagSet(o.get("tags"))
	if err != nil {
		return nil
	}
	if len(s.tags) >= maxTags {
		clear(s.tags)
	}
	s.tags[string(end)] = tags
	return tags
}

// tagSet reads tags.
func (s *samples) tagSet(raw json.RawMessage) (*tagSet, error) {
	t := &tagSet{}
	if raw != nil {
		if err := json.Unmarshal(raw, &t.tags); err != nil {
			return nil, fmt.Errorf("tags: %w", err)
		}
	}
	if name, isCheck := t.tags["check"]; isCheck && len(s.checks) < maxSeries {
		t.check = s.check(checkID{t.tags["group"], name})
	}
	return t, nil
}

// unusual reads any line, slowly.
func (s *samples) unusual(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var o, data object
	if err := json.Unmarshal(line, &o); err != nil {
		return err
	}
	if raw := o.get("data"); raw != nil {
		if err := json.Unmarshal(raw, &data); err != nil {
			return fmt.Errorf("data: %w", err)
		}
	}
	switch kind := o.text("type"); kind {
	case "Metric":
		return s.metric(data)
	case "Point":
		return s.slowPoint(o.text("metric"), data)
	default:
		return fmt.Errorf("its type %s is neither Metric nor Point", excerpt(o.get("type")))
	}
}

// metric reads the line that says what a metric is.
func (s *samples) metric(data object) error {
	var subs []struct {
		Name string            `json:"name"`
		Tags map[string]string `json:"tags"`
	}
	if raw := data.get("submetrics"); raw != nil {
		if err := json.Unmarshal(raw, &subs); err != nil {
			return fmt.Errorf("submetrics: %w", err)
		}
	}
	name := data.text("name")
	if name == "" {
		return errors.New("a metric has no name")
	}
	metric, err := s.define(name, data.text("contains"), metricType(data.text("type")))
	if err != nil {
		return err
	}
	for _, sub := range subs {
		if s.series[sub.Name] != nil {
			continue
		}
		of, err := s.define(sub.Name, metric.contains, metric.typ)
		if err != nil {
			return err
		}
		of.tags = sub.Tags
		metric.subs = append(metric.subs, of)
		clear(s.tags) // they know the sub-metrics of before
	}
	return nil
}

// slowPoint reads a sample.
func (s *samples) slowPoint(name string, data object) error {
	metric := s.series[name]
	if metric == nil {
		return fmt.Errorf("a sample of %s, whose type no line before says", quoted(name))
	}
	var value *float64
	if err := json.Unmarshal(data.get("value"), &value); err != nil || value == nil {
		return fmt.Errorf("its value %s is no number", excerpt(data.get("value")))
	}
	at, err := time.Parse(time.RFC3339Nano, data.text("time"))
	if err != nil || at.Year() < 1970 || at.Year() > 2200 {
		return fmt.Errorf("its time %s is none", excerpt(data.get("time")))
	}
	tags, err := s.tagSet(data.get("tags"))
	if err != nil {
		return err
	}
	s.point(metric, tags, *value, at.UnixNano())
	return nil
}

func (s *samples) point(metric *series, tags *tagSet, v float64, at int64) {
	s.span(at, at)
	metric.add(v, at)
	switch metric.name {
	case "iteration_duration":
		if begin := at - int64(v*float64(time.Millisecond)); v >= 0 && v < maxTimeoutMS && (s.start == 0 || begin < s.start) {
			s.start = begin
		}
	case "checks":
		switch {
		case tags.check == nil:
		case v != 0:
			tags.check.passes++
		default:
			tags.check.fails++
		}
	}
	if len(metric.subs) == 0 {
		return
	}
	in, known := tags.in[metric]
	if !known {
		for _, sub := range metric.subs {
			if within(sub.tags, tags.tags) {
				in = append(in, sub)
			}
		}
		if tags.in == nil {
			tags.in = map[*series][]*series{}
		}
		tags.in[metric] = in
	}
	for _, sub := range in {
		sub.add(v, at)
	}
}

// within says whether all of the tags are among the others.
func within(some, all map[string]string) bool {
	for key, value := range maps.All(some) {
		if v, ok := all[key]; !ok || v != value {
			return false
		}
	}
	return true
}
