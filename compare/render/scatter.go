package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/retrylab/retrylab/compare"
)

const (
	scatterHeight = 430.0
	scatterLeft   = 56.0
	scatterRight  = 24.0
	scatterTop    = 20.0
	scatterBottom = 46.0
	together      = 11.0 // points nearer than this share a label
	charWidth     = 6.7  // of the labels' font, on average
	lineHeight    = 14.0
	shapes        = 4 // kinds of points
)

// scatter is the plot of success against amplification.
type scatter struct {
	Width, Height            float64
	Left, Right, Top, Bottom float64
	X, Y                     []tick
	Points                   []point
	Labels                   []pointLabel
	Legend                   []legendEntry
}

type tick struct {
	At   float64
	Text string
}

// point is a mark of one of the shapes; Kind counts them from 0.
type point struct {
	X, Y float64
	Kind int
	Full string
}

type pointLabel struct {
	X, Y   float64
	Anchor string
	Text   string
}

// legendEntry is a shape in a box of 16 by 16, and what it stands for.
type legendEntry struct {
	X, Y     float64
	Kind     int
	Scenario string
}

// scatterPlot draws every row that has both figures. Points that lie together
// are labelled once, by their runs' numbers.
func scatterPlot(report compare.Report, columns columnsByName) scatter {
	amplification, success := columns["retry_amplification_factor"], columns["success_rate"]
	plot := scatter{
		Width: plotWidth, Height: scatterHeight, Left: scatterLeft, Right: plotWidth - scatterRight,
		Top: scatterTop, Bottom: scatterHeight - scatterBottom,
	}
	most := 1.0
	for _, row := range report.Rows {
		most = max(most, row.Stat(amplification).Value)
	}
	step := .5
	for most/step > 8 {
		step *= 2
	}
	most += step / 2
	x := func(v float64) float64 { return round1(plot.Left + v/most*(plot.Right-plot.Left)) }
	y := func(v float64) float64 { return round1(plot.Bottom - v*(plot.Bottom-plot.Top)) }
	for v := 0.0; v <= most; v += step {
		plot.X = append(plot.X, tick{x(v), exact(v)})
	}
	for _, v := range []float64{0, .25, .5, .75, 1} {
		plot.Y = append(plot.Y, tick{y(v), fixed(100*v, 0) + "%"})
	}
	var rows []compare.Row
	for kind, group := range report.Groups() {
		scenario, conditions := heading(group)
		plot.Legend = append(plot.Legend, legendEntry{Kind: kind % shapes, X: 8, Y: 8, Scenario: scenario})
		for _, row := range group.Rows {
			a, s := row.Stat(amplification), row.Stat(success)
			if !a.Known() || !s.Known() {
				continue
			}
			full := label(row) + ", " + scenario
			if conditions != "" {
				full += " (" + conditions + ")"
			}
			full += ": success " + percent(s.Value) + ", " + figure(compare.Factor, a.Value) + " calls per request"
			plot.Points = append(plot.Points, point{x(a.Value), y(s.Value), kind % shapes, full})
			rows = append(rows, row)
		}
	}
	plot.label(rows)
	return plot
}

// label places the labels: beside their points where nothing is in the way.
func (s *scatter) label(rows []compare.Row) {
	var taken []box
	for _, p := range s.Points {
		taken = append(taken, box{p.X - 5, p.Y - 5, p.X + 5, p.Y + 5})
	}
	done := make([]bool, len(s.Points))
	for i, p := range s.Points {
		if done[i] {
			continue
		}
		var members []string
		for j, q := range s.Points {
			if !done[j] && abs(p.X-q.X) < together && abs(p.Y-q.Y) < together {
				done[j] = true
				members = append(members, fitted(rows[j], cmp.Or(runNumber(rows[j]), rows[j].PolicyLabel()), 18))
			}
		}
		text := fitted(rows[i], numbered(rows[i]), nameInPlot)
		if len(members) > 1 {
			slices.Sort(members)
			text = short("runs "+strings.Join(members, ", "), 2*nameInPlot)
		}
		label, area := s.place(p, text, taken)
		s.Labels = append(s.Labels, label)
		taken = append(taken, area)
	}
}

// place finds the first free place for a label around a point, or else the last
// one tried.
func (s *scatter) place(p point, text string, taken []box) (pointLabel, box) {
	width := charWidth * float64(len([]rune(text)))
	var label pointLabel
	var area box
	for ring := 0.0; ring < 4; ring++ {
		for _, side := range []struct{ dx, dy float64 }{{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {1, 1}, {-1, -1}, {-1, 1}} {
			label = pointLabel{X: p.X + 10*side.dx, Y: p.Y + 4 + side.dy*(lineHeight+ring*lineHeight), Anchor: "start", Text: text}
			area = box{label.X, label.Y - 11, label.X + width, label.Y + 3}
			switch side.dx {
			case -1:
				label.Anchor = "end"
				area.left, area.right = label.X-width, label.X
			case 0:
				label.Anchor = "middle"
				area.left, area.right = label.X-width/2, label.X+width/2
			}
			label.X, label.Y = round1(label.X), round1(label.Y)
			inside := area.left >= s.Left && area.right <= s.Width && area.top >= 0 && area.bottom <= s.Bottom
			if inside && !slices.ContainsFunc(taken, area.meets) {
				return label, area
			}
		}
	}
	return label, area
}

type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

func abs(v float64) float64 { return max(v, -v) }
