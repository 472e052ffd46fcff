package render

import (
	"strings"

	"github.com/retrylab/retrylab/compare"
)

// rejections is the plot of refused attempts for each request, by guard.
type rejections struct {
	// Known says whether any row has the figures at all.
	Known         bool
	Width, Height float64
	Legend        []legendEntry
	Bars          []stack
}

// stack is the bar of a row.
type stack struct {
	Name, Full, Value string
	Middle, TextX     float64
	Parts             []part
}

// part is one guard's share of a bar; Kind is its colour.
type part struct {
	X, Y, Width float64
	Kind        int
}

func rejectionsPlot(report compare.Report) rejections {
	plot := rejections{Width: plotWidth}
	most := 0.0
	for _, row := range report.Rows {
		sum := 0.0
		for _, r := range row.Rejections() {
			plot.Known = true
			sum += r.PerRequest
		}
		most = max(most, sum)
	}
	if most == 0 {
		return plot
	}
	shown := map[int]bool{}
	var guards []string
	for _, row := range report.Rows {
		bar := stack{Name: fitted(row, rowName(row), wideName), Middle: 6 + float64(len(plot.Bars))*barStep + barHeight/2}
		x, sum := wideLeft, 0.0
		var parts []string
		for kind, r := range row.Rejections() {
			if len(guards) <= kind {
				guards = append(guards, r.Guard)
			}
			if r.PerRequest == 0 {
				continue
			}
			shown[kind] = true
			width := r.PerRequest / most * (plotWidth - wideLeft - barsRight)
			bar.Parts = append(bar.Parts, part{X: round1(x), Y: bar.Middle - barHeight/2, Width: round1(width), Kind: kind})
			parts = append(parts, r.Guard+" "+figure(compare.Factor, r.PerRequest))
			x, sum = x+width, sum+r.PerRequest
		}
		if sum == 0 {
			continue
		}
		bar.Value, bar.TextX = figure(compare.Factor, sum), round1(x+7)
		bar.Full = printable(row.Title()) + ": refused attempts for each request: " + strings.Join(parts, ", ")
		plot.Bars = append(plot.Bars, bar)
	}
	for kind, guard := range guards {
		if shown[kind] {
			plot.Legend = append(plot.Legend, legendEntry{Kind: kind, Scenario: guard})
		}
	}
	plot.Height = 6 + float64(len(plot.Bars))*barStep + barsPadding
	return plot
}

// rowName is the row's number and name.
func rowName(row compare.Row) string { return strings.TrimSpace(runNumber(row) + " " + row.Name) }
