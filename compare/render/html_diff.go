package render

import (
	"fmt"
	"io"
	"math"

	"github.com/retrylab/retrylab/compare"
)

// DiffHTML writes one self-contained page, as HTML does: a plot of the changes of
// each figure, the notes, and a table of all comparisons.
func DiffHTML(w io.Writer, diff compare.Diff) error {
	p := diffPage{frame: newFrame("Retry Lab diff: "+diffTitle(diff), diff.Setting), Sides: sides(diff)}
	p.Notes, p.Warnings, p.Columns = diff.Notes, diff.Warnings, diff.Columns
	p.Heads = []diffHead{
		{"run", "The policy and the scenario.", true}, {"figure", "What is compared.", true},
		{"base", "Median of the base.", false}, {"head", "Median of the head.", false},
		{"change", "The difference of the medians where it is significant.", false},
		{"verdict", "Better or worse: significant, and beyond the floor. ~: no such difference.", true},
		{"test", "p of the Mann-Whitney U test, and the number of repetitions.", true},
	}
	for i, c := range diff.Columns {
		if len(diff.Rows) > 0 {
			p.Plots = append(p.Plots, changePlot(diff, i, c))
		}
	}
	for _, row := range diff.Rows {
		for _, j := range row.Figures {
			p.Rows = append(p.Rows, newDiffRow(row, j))
		}
	}
	return writePage(w, "diff.html", p)
}

type diffPage struct {
	frame
	Sides string
	Plots []changes
	Heads []diffHead
	Rows  []diffPageRow
}

type diffHead struct {
	Title, Doc string
	Words      bool
}

type diffPageRow struct {
	Cells                []pageCell
	Verdict, Class, Test string
}

func newDiffRow(row compare.DiffRow, j compare.Judgement) diffPageRow {
	number := func(text string, s compare.Stat) pageCell {
		one := pageCell{Text: text}
		if s.Known() {
			one.Value = exact(s.Value)
		}
		return one
	}
	change := pageCell{Text: delta(j)}
	if share, ok := j.Relative(); ok && change.Text != "" {
		change.Value = exact(share)
	}
	out := diffPageRow{Verdict: verdict(j), Test: test(j), Cells: []pageCell{
		{Text: printable(row.Name), Head: true}, {Text: j.Column.Title, Words: true},
		number(side(j.Column, j.Base), j.Base), number(side(j.Column, j.Head), j.Head), change,
	}}
	switch j.Verdict {
	case compare.Worse:
		out.Class = "bad"
	case compare.Better:
		out.Class = "good"
	}
	return out
}

// changes is the plot of one figure's changes: a point a run, in percentage points
// for shares and in percent of the base else.
type changes struct {
	Title, About                           string
	Width, Height, Top, Bottom             float64
	ZeroX, FloorX, FloorWidth, FloorHeight float64
	Ticks                                  []tick
	Dots                                   []dot
}

type dot struct {
	Name, Full, Text, Class string
	Known, Hollow           bool
	X, Y, TextX             float64
	LineX, LineEnd          float64
}

func changePlot(diff compare.Diff, i int, c compare.Column) changes {
	title, about := diffHeading(diff, c)
	plot := changes{Title: title, About: about, Width: plotWidth, Top: 16}
	floor := diff.Floors[c.Name].Value
	most := max(2*floor, .01)
	for _, row := range diff.Rows {
		if v, ok := step(row.Figures[i]); ok {
			most = max(most, math.Abs(v))
		}
	}
	const left, right = wideLeft, plotWidth - 90
	x := func(v float64) float64 { return round1((left+right)/2 + v/most*((right-left)/2-12)) }
	plot.ZeroX, plot.FloorX, plot.FloorWidth = x(0), x(-floor), round1(x(floor)-x(-floor))
	for _, v := range []float64{-most, 0, most} {
		plot.Ticks = append(plot.Ticks, tick{x(v), stepText(c, v)})
	}
	for _, row := range diff.Rows {
		j := row.Figures[i]
		d := dot{
			Name: short(printable(row.Name), 46), Full: printable(row.Name) + ": " + diffSentence(j), Class: "other",
			Y: plot.Top + barStep/2 + float64(len(plot.Dots))*barStep, LineX: left, LineEnd: right,
			TextX: right + 14, Text: delta(j),
		}
		v, ok := step(j)
		d.Known, d.X, d.Hollow = ok, x(v), true
		switch j.Verdict {
		case compare.Worse, compare.Better:
			d.Class, d.Hollow = string(j.Verdict), false
		case compare.TooFew, compare.Missing:
			d.Text = string(j.Verdict)
		case compare.Alike:
			d.Text = same
		}
		plot.Dots = append(plot.Dots, d)
	}
	plot.Bottom = plot.Top + float64(len(plot.Dots))*barStep
	plot.Height, plot.FloorHeight = plot.Bottom+barsPadding, plot.Bottom-plot.Top
	return plot
}

// step is the change as it is drawn.
func step(j compare.Judgement) (float64, bool) {
	if j.Column.Kind == compare.Share {
		return j.Delta(), j.Known()
	}
	return j.Relative()
}

func stepText(c compare.Column, v float64) string {
	switch {
	case v == 0:
		return "0"
	case c.Kind == compare.Share:
		return figure(compare.Points, v)
	}
	return fmt.Sprintf("%+.3g%%", 100*v)
}
