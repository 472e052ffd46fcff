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

// Text writes the text at the end of a run: thresholds, checks, metrics.
func (d *Data) Text(w io.Writer, o TextOptions) error {
	var b strings.Builder
	p := painter(o.Color)
	d.textThresholds(&b, p)
	d.textChecks(&b, p)
	d.textMetrics(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Data) textThresholds(b *strings.Builder, p painter) {
	head := false
	for _, m := range d.Metrics {
		if len(m.Thresholds) == 0 {
			continue
		}
		if !head {
			b.WriteString("\nTHRESHOLDS\n")
			head = true
		}
		fmt.Fprintf(b, "  %s\n", m.Name)
		for _, t := range m.Thresholds {
			fmt.Fprintf(b, "    %s %s", p.mark(t.OK), t.Source)
			if m.Empty {
				b.WriteString("  (no sample seen)")
			}
			b.WriteByte('\n')
		}
	}
}

func (d *Data) textChecks(b *strings.Builder, p painter) {
	if len(d.Root.Groups) == 0 && len(d.Root.Checks) == 0 {
		return
	}
	b.WriteString("\nCHECKS\n")
	d.Root.text(b, p, "  ")
}

func (g *Group) text(b *strings.Builder, p painter, indent string) {
	for _, c := range g.Checks {
		fmt.Fprintf(b, "%s%s %s", indent, p.mark(c.Fails == 0), c.Name)
		if total := c.Passes + c.Fails; c.Fails > 0 {
			fmt.Fprintf(b, "  %s passed: %d of %d", percent(float64(c.Passes)/float64(total)), c.Passes, total)
		}
		b.WriteByte('\n')
	}
	for _, c := range g.Groups {
		fmt.Fprintf(b, "%s%s\n", indent, c.Name)
		c.text(b, p, indent+"  ")
	}
}

func (d *Data) textMetrics(b *strings.Builder) {
	if len(d.Metrics) == 0 {
		return
	}
	b.WriteString("\nMETRICS\n")
	rows := make([][]string, 0, len(d.Metrics))
	var widths []int
	for _, m := range d.Metrics {
		name := m.Name
		if i := strings.IndexByte(name, '{'); i >= 0 {
			name = "  " + name[i:]
		}
		row := append([]string{name}, d.cells(m)...)
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			// The last cell of a row widens no column.
			if i+1 < len(row) || i == 0 {
				widths[i] = max(widths[i], utf8.RuneCountInString(c))
			}
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		b.WriteString("  ")
		for i, c := range row {
			b.WriteString(c)
			if i+1 < len(row) {
				b.WriteString(strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(c), 0)+2))
			}
		}
		b.WriteByte('\n')
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
			text = number(v.Number)
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
	return number(v)
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

func number(v float64) string {
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
