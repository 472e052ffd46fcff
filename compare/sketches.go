package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// infinite is a number of a file of sketches, which may be infinite, or none
// where infinities were added up.
type infinite float64

// UnmarshalJSON implements json.Unmarshaler.
func (f *infinite) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `"NaN"`:
		*f = infinite(math.NaN())
	case `"Infinity"`:
		*f = infinite(math.Inf(1))
	case `"-Infinity"`:
		*f = infinite(math.Inf(-1))
	default:
		var v float64
		if err := json.Unmarshal(data, &v); err != nil || string(data) == "null" {
			return fmt.Errorf("%s is no number", excerpt(data))
		}
		*f = infinite(v)
	}
	return nil
}

// sketchFile is the file of --summary-sketches, whose format the documentation
// of the runner's summary states.
type sketchFile struct {
	Version       int          `json:"version"`
	Start         time.Time    `json:"start"`
	DurationMS    float64      `json:"duration_ms"`
	RelativeError float64      `json:"relative_error"`
	Segment       string       `json:"segment"`
	Metrics       []sketchItem `json:"metrics"`
	Checks        []struct {
		Group, Name   string
		Passes, Fails uint64
	} `json:"checks"`
}

type sketchItem struct {
	Name     string            `json:"name"`
	Type     string            `json:"type"`
	Contains string            `json:"contains"`
	Tags     map[string]string `json:"tags"`
	Counter  *struct {
		Sum infinite `json:"sum"`
	} `json:"counter"`
	Gauge *struct {
		Value, Min, Max infinite
		Time            time.Time
	} `json:"gauge"`
	Rate *struct {
		Passes uint64 `json:"passes"`
		Total  uint64 `json:"total"`
	} `json:"rate"`
	Trend *sketchTrend `json:"trend"`
}

type sketchTrend struct {
	Count  uint64     `json:"count"`
	Sum    infinite   `json:"sum"`
	Min    infinite   `json:"min"`
	Max    infinite   `json:"max"`
	Values []infinite `json:"values"`
	Sketch []byte     `json:"sketch"`
}

// readSketches reads a file of sketches.
func readSketches(data []byte) (content, error) {
	var file sketchFile
	if err := json.Unmarshal(data, &file); err != nil {
		return content{}, fmt.Errorf("not a file of sketches: %w", err)
	}
	const year = 366 * 24 * 3600e3
	switch {
	case file.Version != 1:
		return content{}, fmt.Errorf("version %d of the sketches: only 1 is read", file.Version)
	case !(file.DurationMS >= 0 && file.DurationMS < year):
		return content{}, fmt.Errorf("duration_ms %v is not in 0 to a year", file.DurationMS)
	case file.Start.Year() < 1970 || file.Start.Year() > 2200:
		return content{}, fmt.Errorf("start %q is no time of a run", file.Start.Format(time.RFC3339))
	}
	a := newAggregate()
	begin := file.Start.UnixNano()
	a.span(begin, begin+int64(file.DurationMS*float64(time.Millisecond)))
	for _, m := range file.Metrics {
		if a.series[m.Name] != nil {
			return content{}, fmt.Errorf("metric %s is there twice", quoted(m.Name))
		}
		s, err := a.define(m.Name, m.Contains, metricType(m.Type))
		if err != nil {
			return content{}, err
		}
		s.tags = m.Tags
		if err := s.fill(m); err != nil {
			return content{}, fmt.Errorf("metric %s: %w", quoted(m.Name), err)
		}
	}
	for _, c := range file.Checks {
		a.check(checkID{c.Group, c.Name}).add(c.Passes, c.Fails)
	}
	c := whole(Sketches, a)
	c.segment = file.Segment
	return c, nil
}

// fill takes the aggregate of the metric's type in.
func (s *series) fill(m sketchItem) error {
	switch {
	case s.typ == Counter && m.Counter != nil:
		if m.Counter.Sum < 0 {
			return fmt.Errorf("its sum %v is below 0", float64(m.Counter.Sum))
		}
		s.samples, s.sum = 1, float64(m.Counter.Sum)
	case s.typ == Gauge && m.Gauge != nil:
		if g := m.Gauge; g.Time.Year() >= 1970 && g.Time.Year() <= 2200 { // the zero time: no sample
			s.gauge(float64(g.Value), float64(g.Min), float64(g.Max), g.Time.UnixNano())
		}
	case s.typ == Rate && m.Rate != nil:
		if m.Rate.Passes > m.Rate.Total {
			return fmt.Errorf("%d of %d samples passed", m.Rate.Passes, m.Rate.Total)
		}
		s.passes, s.total = m.Rate.Passes, m.Rate.Total
	case s.typ == Trend && m.Trend != nil:
		return s.trend.fill(*m.Trend)
	default:
		return fmt.Errorf("it is a %v, and has no %v", s.typ, s.typ)
	}
	return nil
}

func (d *distribution) fill(t sketchTrend) error {
	d.count, d.sum, d.min, d.max = t.Count, float64(t.Sum), float64(t.Min), float64(t.Max)
	if t.Sketch != nil {
		sketch, err := decodeSketch(t.Sketch, t.Count)
		d.sketch = sketch
		return err
	}
	if uint64(len(t.Values)) != t.Count {
		return fmt.Errorf("it has %d values, and says %d", len(t.Values), t.Count)
	}
	for _, v := range t.Values {
		if math.IsNaN(float64(v)) {
			return fmt.Errorf("a value is not a number")
		}
		d.values = append(d.values, float64(v))
	}
	return nil
}
