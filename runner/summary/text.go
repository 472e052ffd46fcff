package summary

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// TextOptions are how the text at the end of a run looks.
type TextOptions struct {
	// Color marks passes and failures with terminal colours.
	Color bool
}

type painter bool

func (p painter) paint(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) mark(ok bool) string {
	if ok {
		return p.paint("32", "✓")
	}
	return p.paint("31", "✗")
}

// Text writes the text at the end of a run: thresholds, checks and metrics, and
// in the mode full those of each group and scenario.
func (d *Data) Text(w io.Writer, o TextOptions) error {
	t := &text{d: d, painter: painter(o.Color)}
	t.measure(d.Metrics)
	t.measureParts(d.Parts)
	t.thresholds()
	if checks := d.Root.byName(); len(checks) > 0 {
		t.title("", "CHECKS")
		t.totals("  ", checks)
		t.checks("  ", d.Root)
	}
	t.metrics("", d.Metrics)
	if d.Mode == Full && d.Parts != nil {
		for _, g := range d.Parts.Groups {
			t.part("", "GROUP "+g.Name, g)
		}
		for _, s := range d.Parts.Scenarios {
			t.part("", "SCENARIO "+s.Name, s)
		}
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// text is the text while it is made.
type text struct {
	painter
	d      *Data
	b      strings.Builder
	widths []int // of the columns of all metrics
}

func (t *text) title(indent, name string) {
	fmt.Fprintf(&t.b, "\n%s%s\n", indent, t.paint("1", name))
}

func (t *text) thresholds() {
	head := false
	for _, m := range t.d.Metrics {
		if len(m.Thresholds) == 0 {
			continue
		}
		if !head {
			t.title("", "THRESHOLDS")
			head = true
		}
		fmt.Fprintf(&t.b, "  %s\n", m.Name)
		for _, c := range m.Thresholds {
			seen := "  (" + c.Aggregation + "=" + t.d.aggregate(m, c) + ")"
			switch {
			case m.Empty:
				seen = "  (no sample seen)"
			case c.Aggregation == "": // not known
				seen = ""
			}
			fmt.Fprintf(&t.b, "    %s %s%s\n", t.mark(c.OK), c.Source, seen)
		}
	}
}

// aggregate is what a criterion judged, as text.
func (d *Data) aggregate(m Metric, c Threshold) string {
	switch {
	case m.Type == "rate":
		return percent(c.Value)
	case m.Type == "counter" && c.Aggregation == "rate":
		return d.humanize(m.Contains, c.Value) + "/s"
	}
	return d.humanize(m.Contains, c.Value)
}

// totals is a line about all checks together.
func (t *text) totals(indent string, checks []*Check) {
	var passes, fails int64
	for _, c := range checks {
		passes += c.Passes
		fails += c.Fails
	}
	total := passes + fails
	fmt.Fprintf(&t.b, "%s%s passed: %d of %d", indent, percent(float64(passes)/float64(max(total, 1))), passes, total)
	if s := t.d.Duration.Seconds(); s > 0 {
		fmt.Fprintf(&t.b, ", %s/s", plain(float64(total)/s))
	}
	t.b.WriteByte('\n')
}

func (t *text) checks(indent string, g *Group) {
	for _, c := range g.Checks {
		fmt.Fprintf(&t.b, "%s%s %s", indent, t.mark(c.Fails == 0), c.Name)
		if total := c.Passes + c.Fails; c.Fails > 0 {
			fmt.Fprintf(&t.b, "  %s passed: %d of %d", percent(float64(c.Passes)/float64(total)), c.Passes, total)
		}
		t.b.WriteByte('\n')
	}
	for _, c := range g.Groups {
		fmt.Fprintf(&t.b, "%s%s\n", indent, c.Name)
		t.checks(indent+"  ", c)
	}
}

// part is a group or scenario by itself.
func (t *text) part(indent, title string, p *Part) {
	t.title(indent, title)
	if len(p.Checks) > 0 {
		g := &Group{Checks: p.Checks}
		t.totals(indent+"  ", g.byName())
		t.checks(indent+"  ", g)
	}
	t.metrics(indent+"  ", p.Metrics)
	for _, g := range p.Groups {
		t.part(indent+"  ", "GROUP "+g.Name, g)
	}
}

// metrics are metrics under their titles, in the mode legacy under one.
func (t *text) metrics(indent string, metrics []Metric) {
	if t.d.Mode == Legacy {
		t.table(indent, "METRICS", metrics)
		return
	}
	sections := t.d.Mode.bySection(metrics)
	for _, title := range []string{custom, http, execution, network} {
		t.table(indent, title, sections[title])
	}
}

func (t *text) table(indent, title string, metrics []Metric) {
	if len(metrics) == 0 {
		return
	}
	t.title(indent, title)
	for _, m := range metrics {
		row := t.row(m)
		t.b.WriteString(indent + "  ")
		for i, c := range row {
			t.b.WriteString(c)
			if i+1 < len(row) {
				t.b.WriteString(strings.Repeat(" ", max(t.widths[i]-utf8.RuneCountInString(c), 0)+2))
			}
		}
		t.b.WriteByte('\n')
	}
}

func (t *text) row(m Metric) []string {
	name := m.Name
	if i := strings.IndexByte(name, '{'); i >= 0 {
		name = "  " + name[i:]
	}
	return append([]string{name}, t.d.cells(m)...)
}

// measure widens the columns so that these metrics fit.
func (t *text) measure(metrics []Metric) {
	for _, m := range metrics {
		if t.d.Mode != Legacy && t.d.Mode.section(m.Name) == "" {
			continue
		}
		row := t.row(m)
		for i, c := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			// The last cell of a row widens no column.
			if i+1 < len(row) || i == 0 {
				t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c))
			}
		}
	}
}

func (t *text) measureParts(p *Part) {
	if p == nil {
		return
	}
	t.measure(p.Metrics)
	for _, g := range append(p.Groups[:len(p.Groups):len(p.Groups)], p.Scenarios...) {
		t.measureParts(g)
	}
}

// cells are a metric's numbers as text.
func (d *Data) cells(m Metric) []string {
	show := func(v float64) string { return d.humanize(m.Contains, v) }
	switch m.Type {
	case "counter":
		return []string{show(m.Get("count")), show(m.Get("rate")) + "/s"}
	case "gauge":
		return []string{show(m.Get("value")), "min=" + show(m.Get("min")), "max=" + show(m.Get("max"))}
	case "rate":
		passes, fails := m.Get("passes"), m.Get("fails")
		return []string{percent(m.Get("rate")), fmt.Sprintf("%.0f of %.0f", passes, passes+fails)}
	}
	out := make([]string, len(m.Values))
	for i, v := range m.Values {
		text := show(v.Number)
		if v.Name == "count" {
			text = plain(v.Number)
		}
		out[i] = v.Name + "=" + text
	}
	return out
}

func (d *Data) humanize(contains string, v float64) string {
	switch contains {
	case "time":
		return span(v, d.TimeUnit)
	case "data":
		return size(v)
	}
	return plain(v)
}

// percent is a share, never rounded up to all nor down to none.
func percent(share float64) string {
	v := math.Round(share*10000) / 100
	switch {
	case share > 0 && v == 0:
		return "<0.01%"
	case share < 1 && v == 100:
		v = 99.99
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + "%"
}

// plain is a number without a unit.
func plain(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// size is bytes in decimal units.
func size(v float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i := 0
	for i+1 < len(units) && math.Abs(v) >= 1000 {
		v /= 1000
		i++
	}
	if i == 0 {
		return strconv.FormatFloat(v, 'f', 0, 64) + " B"
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " " + units[i]
}

// span is milliseconds in the unit s, ms or us, or in one that fits.
func span(ms float64, unit string) string {
	switch unit {
	case "s":
		return strconv.FormatFloat(ms/1000, 'f', 3, 64) + "s"
	case "ms":
		return strconv.FormatFloat(ms, 'f', 2, 64) + "ms"
	case "us":
		return strconv.FormatFloat(ms*1000, 'f', 2, 64) + "µs"
	}
	switch abs := math.Abs(ms); {
	case abs == 0:
		return "0s"
	case abs < 1:
		return strconv.FormatFloat(ms*1000, 'f', 2, 64) + "µs"
	case abs < 1000:
		return strconv.FormatFloat(ms, 'f', 2, 64) + "ms"
	case abs < 60_000:
		return strconv.FormatFloat(ms/1000, 'f', 2, 64) + "s"
	}
	return time.Duration(ms * float64(time.Millisecond)).Round(time.Second).String()
}
