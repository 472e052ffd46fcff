package compare

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Report is what renderers render. The zero Report is one of no rows.
type Report struct {
	// Labs are the labs that the rows come from, in order of appearance.
	Labs []string
	// Setting says in one line how the runs were made, as far as they agree.
	Setting string
	// Rows are in the order of their numbers, those without a number last.
	Rows []Row
	// Notes are the doubts about the figures.
	Notes []Note
	// Warnings are the files that could not be used.
	Warnings []Warning
}

// Row is one policy in one scenario over the repetitions of its run.
type Row struct {
	Lab string
	// Number is the number in the plan; 0 if none is known.
	Number int
	// Name is policy-scenario. Scenario is empty if it is not known.
	Name, Policy, Scenario string
	// Conditions are the scenario's parameters in words; empty if not known.
	Conditions string
	// Runs are the repetitions; never empty.
	Runs []Run

	stats map[string]Stat
	marks map[string][]int
}

// Group is the rows of one scenario with the same parameters.
type Group struct {
	Scenario, Conditions string
	Rows                 []Row
}

// Build makes a report of the runs, whatever their order, and of the warnings of
// the files that became none. Repetitions of a run become one row of medians.
func Build(runs []Run, warnings ...Warning) Report {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, order)
	report := Report{Warnings: warnings, Setting: setting(runs)}
	for _, run := range runs {
		if !slices.Contains(report.Labs, run.Lab) {
			report.Labs = append(report.Labs, run.Lab)
		}
		if last := len(report.Rows) - 1; last >= 0 && sameRow(report.Rows[last].Runs[0], run) {
			report.Rows[last].Runs = append(report.Rows[last].Runs, run)
			continue
		}
		report.Rows = append(report.Rows, Row{
			Lab: run.Lab, Number: run.Number, Name: run.Name, Policy: run.Policy.Name,
			Scenario: run.Scenario.Name, Conditions: run.Scenario.words(), Runs: []Run{run},
		})
	}
	columns := slices.Concat(Columns(), Summary(), Work())
	for i := range report.Rows {
		row := &report.Rows[i]
		row.marks = map[string][]int{}
		row.stats = map[string]Stat{"repetitions": statOf([]float64{float64(len(row.Runs))})}
		for _, c := range columns {
			if c.number != nil {
				row.stats[c.Name] = row.stat(c.number)
			}
		}
	}
	report.Notes = notes(report.Rows)
	return report
}

// order is the order of rows, and within them of repetitions.
func order(a, b Run) int {
	last := func(number int) uint { return uint(number) - 1 } // 0 comes last
	return cmp.Or(
		cmp.Compare(last(a.Number), last(b.Number)),
		strings.Compare(a.Name, b.Name),
		strings.Compare(a.Lab, b.Lab),
		cmp.Compare(a.Repetition, b.Repetition),
		strings.Compare(a.File, b.File),
	)
}

func sameRow(a, b Run) bool {
	return a.Number == b.Number && a.Name == b.Name && a.Lab == b.Lab
}

// alike reports whether two repetitions ran the same thing, as far as both say.
func alike(a, b Run) bool {
	if a.Setup == nil || b.Setup == nil {
		return true
	}
	return reflect.DeepEqual(a.Policy, b.Policy) && reflect.DeepEqual(a.Scenario, b.Scenario) &&
		a.Setup.VUs == b.Setup.VUs && a.Setup.DurationMS == b.Setup.DurationMS
}

func (r Row) stat(number func(Run) (float64, bool)) Stat {
	var values []float64
	for _, run := range r.Runs {
		if v, ok := number(run); ok && !math.IsInf(v, 0) && !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return statOf(values)
}

// Stat returns the row's figure in the column, missing for a column of text.
func (r Row) Stat(c Column) Stat { return r.stats[c.Name] }

// Text returns the row's words in the column, empty for a column of figures.
func (r Row) Text(c Column) string {
	if c.text == nil {
		return ""
	}
	return c.text(r)
}

// Marks returns the marks of the notes about the row's figure in the column.
func (r Row) Marks(c Column) []int { return r.marks[c.Name] }

// number is the row's number as written: two digits, or nothing.
func (r Row) number() string {
	if r.Number == 0 {
		return ""
	}
	return fmt.Sprintf("%02d", r.Number)
}

// label names one run of the row in a note.
func (r Row) label(run Run) string {
	label := cmp.Or(r.number(), r.Name)
	if len(r.Runs) > 1 {
		label += "-r" + strconv.Itoa(run.Repetition)
	}
	return label
}

func (r Row) concurrency() string {
	inflight := r.stats["max_inflight_downstream"]
	switch {
	case !inflight.Known():
		return ""
	case inflight.Value < 30:
		return "low"
	case inflight.Value < 80:
		return "moderate"
	}
	return "high"
}

// PolicyLabel is the policy's name, and the run's variant if it has one.
func (r Row) PolicyLabel() string {
	if variant := r.Runs[0].Variant; variant != "" {
		return r.Policy + ", " + variant
	}
	return r.Policy
}

// wasteful is the share of wasted work from which on it is worth a table.
const wasteful = 0.05

// Wasteful says whether a row's server did much of its work for nobody.
func (r Report) Wasteful() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool {
		s := row.stats["wasted_share"]
		return s.Known() && s.Value >= wasteful
	})
}

// Groups returns the rows by scenario, in order of first appearance.
func (r Report) Groups() []Group {
	var groups []Group
	for _, row := range r.Rows {
		i := slices.IndexFunc(groups, func(g Group) bool {
			return g.Scenario == row.Scenario && g.Conditions == row.Conditions
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, Group{Scenario: row.Scenario, Conditions: row.Conditions})
		}
		groups[i].Rows = append(groups[i].Rows, row)
	}
	return groups
}
