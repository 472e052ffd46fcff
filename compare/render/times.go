package render

import (
	"math"
	"strconv"
	"strings"

	"github.com/retrylab/retrylab/compare"
)

const (
	timeWidth  = 520.0
	timeHeight = 200.0
	timeLeft   = 44.0
	timeRight  = 12.0
	timeTop    = 12.0
	timeBottom = 26.0
	lineStyles = 8
)

// times are the two charts of one scenario over time, and what its lines stand for.
type times struct {
	Scenario, Conditions string
	Legend               []legendEntry
	Charts               []chart
}

// chart is a plot of lines over seconds.
type chart struct {
	Title, Scenario          string
	Width, Height            float64
	Left, Right, Top, Bottom float64
	X, Y                     []tick
	Lines                    []line
}

// line is a path of one of the line styles; Kind counts them from 0.
type line struct {
	Path, Full string
	Kind       int
}

// timePlots draws the groups whose rows have an account by the second.
func timePlots(report compare.Report) []times {
	var out []times
	for _, group := range report.Groups() {
		plot := times{}
		plot.Scenario, plot.Conditions = heading(group)
		var names []string
		var series [][]compare.Second
		for _, row := range group.Rows {
			if s := row.Series(); len(s) > 1 {
				plot.Legend = append(plot.Legend, legendEntry{Kind: len(names) % lineStyles, Scenario: label(row)})
				names, series = append(names, label(row)), append(series, s)
			}
		}
		if len(series) == 0 {
			continue
		}
		plot.Charts = []chart{
			newChart("Answered well, per second", plot.Scenario, names, series, func(s compare.Second) float64 { return s.Good }),
			newChart("Calls in flight in the server", plot.Scenario, names, series, func(s compare.Second) float64 { return s.Inflight }),
		}
		out = append(out, plot)
	}
	return out
}

func newChart(title, scenario string, names []string, series [][]compare.Second, value func(compare.Second) float64) chart {
	c := chart{
		Title: title, Scenario: scenario, Width: timeWidth, Height: timeHeight,
		Left: timeLeft, Right: timeWidth - timeRight, Top: timeTop, Bottom: timeHeight - timeBottom,
	}
	last, most := 1.0, 1.0
	for _, s := range series {
		for _, second := range s {
			last, most = max(last, float64(second.T)), max(most, value(second))
		}
	}
	stepX, stepY := niceStep(last, 6), niceStep(most, 4)
	most = stepY * math.Ceil(most/stepY)
	x := func(t float64) float64 { return round1(c.Left + t/last*(c.Right-c.Left)) }
	y := func(v float64) float64 { return round1(c.Bottom - v/most*(c.Bottom-c.Top)) }
	for t := 0.0; t <= last; t += stepX {
		c.X = append(c.X, tick{x(t), exact(t) + " s"})
	}
	for v := 0.0; v <= most; v += stepY {
		c.Y = append(c.Y, tick{y(v), exact(v)})
	}
	for i, s := range series {
		var path strings.Builder
		for k, second := range s {
			op := " L"
			if k == 0 || second.T != s[k-1].T+1 {
				op = " M" // a gap is no line
			}
			path.WriteString(op + coordinate(x(float64(second.T))) + " " + coordinate(y(value(second))))
		}
		c.Lines = append(c.Lines, line{Path: strings.TrimSpace(path.String()), Full: names[i], Kind: i % lineStyles})
	}
	return c
}

// niceStep is a step of 1, 2 or 5 times a power of ten, at least 1, that reaches
// the greatest value in at most n steps.
func niceStep(most float64, n int) float64 {
	for ten := 1.0; ; ten *= 10 {
		for _, step := range []float64{ten, 2 * ten, 5 * ten} {
			if most/step <= float64(n) {
				return step
			}
		}
	}
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
