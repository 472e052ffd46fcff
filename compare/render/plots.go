package render

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/retrylab/retrylab/compare"
)

// Plots are laid out here, in the units of their SVG view boxes, and drawn by
// the page's template.

const (
	plotWidth   = 760.0
	barsLeft    = 220.0 // room for the policies' names
	barsRight   = 70.0  // room for the values
	barHeight   = 16.0
	barStep     = 26.0
	barsTop     = 22.0
	nameInPlot  = 30    // characters of a policy's name that fit
	wideLeft    = 320.0 // room for longer names, such as those with a lab
	wideName    = 44
	barsPadding = 10.0
)

// bars is the plot of one scenario: amplification by policy.
type bars struct {
	Scenario, Conditions string
	Width, Height        float64
	NameX                float64 // where names end
	OneX, Bottom         float64 // the line of one call per request
	Bars                 []bar
}

type bar struct {
	Name, Value                 string
	Full                        string // what a pointer shows
	Y, Middle                   float64
	X, Width                    float64
	TextX                       float64
	Expected                    bool // whether there is a tick at ExpectedX
	ExpectedX                   float64
	Ranged                      bool // whether there is a line from LowX to HighX
	LowX, HighX                 float64
	ExpectedTop, ExpectedBottom float64
}

// barPlots draws one plot a scenario, all on one scale; rows without an
// amplification have no bar.
func barPlots(report compare.Report, columns columnsByName) []bars {
	amplification, expected := columns["retry_amplification_factor"], columns["expected_amplification"]
	scale := 1.0
	for _, row := range report.Rows {
		scale = max(scale, row.Stat(amplification).High, row.Stat(expected).Value)
	}
	left, fit := barsLeft, nameInPlot
	if len(report.LabColumn()) > 0 {
		left, fit = wideLeft, wideName
	}
	x := func(v float64) float64 { return round1(left + v/scale*(plotWidth-left-barsRight)) }
	var plots []bars
	for _, group := range report.Groups() {
		plot := bars{Width: plotWidth, NameX: left - 8, OneX: x(1)}
		plot.Scenario, plot.Conditions = heading(group)
		for _, row := range group.Rows {
			seen, want := row.Stat(amplification), row.Stat(expected)
			if !seen.Known() {
				continue
			}
			y := barsTop + float64(len(plot.Bars))*barStep
			b := bar{
				Name: fitted(row, numbered(row), fit), Value: figure(compare.Factor, seen.Value),
				Y: y, Middle: y + barHeight/2, X: left, Width: round1(x(seen.Value) - left),
				LowX: x(seen.Low), HighX: x(seen.High), Ranged: seen.High > seen.Low,
				Expected: want.Known(), ExpectedX: x(want.Value), ExpectedTop: y - 3, ExpectedBottom: y + barHeight + 3,
			}
			b.Full = label(row) + ": " + b.Value + " calls per request"
			b.TextX = round1(b.HighX + 7)
			if b.Expected {
				b.Full += ", expected " + figure(compare.Factor, want.Value)
				b.TextX = max(b.TextX, round1(b.ExpectedX+7))
			}
			plot.Bars = append(plot.Bars, b)
		}
		plot.Bottom = barsTop + float64(len(plot.Bars))*barStep
		plot.Height = plot.Bottom + barsPadding
		if len(plot.Bars) > 0 {
			plots = append(plots, plot)
		}
	}
	return plots
}

// runNumber is the row's number, empty if it has none.
func runNumber(row compare.Row) string {
	for _, c := range compare.Summary() {
		if c.Name == "run" {
			return row.Text(c)
		}
	}
	return ""
}

// numbered is the row's number and policy.
func numbered(row compare.Row) string {
	return strings.TrimSpace(runNumber(row) + " " + row.PolicyLabel())
}

// label is the row's number and policy, and its lab if that is to be told.
func label(row compare.Row) string { return printable(called(row, numbered(row))) }

// called is a row's name with its lab behind it, if that is to be told.
func called(row compare.Row, name string) string {
	if row.OfLab() == "" {
		return name
	}
	return name + " of " + row.OfLab()
}

// fitted is a row's name as [called] has it in about n characters, of the lab at
// most a third.
func fitted(row compare.Row, name string, n int) string {
	name = printable(name)
	if row.OfLab() == "" {
		return short(name, n)
	}
	lab := ends(printable(row.OfLab()), n/3)
	return short(name, n-len(" of ")-utf8.RuneCountInString(lab)) + " of " + lab
}

// ends cuts the middle out of a text that is longer than n characters: labs often
// differ at their ends only.
func ends(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n/2]) + "…" + string(runes[len(runes)-(n-1-n/2):])
}

// short cuts a text that is longer than n characters.
func short(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}

// round1 keeps coordinates readable in the page's source.
func round1(v float64) float64 { return math.Round(v*10) / 10 }
