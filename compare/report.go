package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Report is what renderers render. The zero Report is one of no rows.
type Report struct {
	// Labs are the labs that the rows come from, in the order in which they were read.
	Labs []string
	// Setting says in one line how the runs were made, as far as they agree.
	Setting string
	// Rows are in the order of their numbers, those without a number last, or in
	// the order that was asked for.
	Rows []Row
	// Unselected says which filters select no row, and what there is to select;
	// empty for none.
	Unselected string
	// Baseline is the policy that the others are compared with; empty for none.
	Baseline string
	// Checks are what became of the gates at the rows.
	Checks []Check
	// Notes are the doubts about the figures.
	Notes []Note
	// Warnings are the files that could not be used.
	Warnings []Warning

	groupBy string
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

	ofLab   string // the lab, where rows of several are told apart by it
	stats   map[string]Stat
	changes map[string]Change // against the baseline
	marks   map[string][]int
}

// Group is rows that belong together: those of one scenario with the same
// parameters, or what else was asked for. Title and Conditions say what they have
// in common.
type Group struct {
	Title, Conditions string
	Rows              []Row
}

// Table is a table of a report for people: some columns of its rows.
type Table struct {
	// Title is empty for the first one, and Legend explains the short headings.
	Title, Legend string
	Columns       []Column
}

// Build makes a report of the runs, whatever their order, and of the warnings of
// the files that became none. Repetitions of a run become one row of medians.
func Build(runs []Run, warnings ...Warning) Report { return Options{}.Build(runs, warnings...) }

// Build makes the report that the options ask for; see the function [Build].
func (o Options) Build(runs []Run, warnings ...Warning) Report {
	runs = slices.Clone(runs)
	sortRuns(runs)
	report := Report{Warnings: warnings, Setting: setting(runs), Baseline: o.Baseline, groupBy: cmp.Or(o.GroupBy, "scenario")}
	rows := rowsOf(runs)
	baseline(rows, o.Baseline)
	for _, row := range rows {
		if len(o.Filters) == 0 || slices.ContainsFunc(o.Filters, func(f Filter) bool { return f.keeps(row) }) {
			report.Rows = append(report.Rows, row)
		}
	}
	o.Sort.sort(report.Rows)
	report.Labs = labsOf(report.Rows)
	report.Unselected = unselected(o.Filters, rows)
	tellLabs(report.Rows, report.Labs)
	for _, gate := range o.Gates {
		report.Checks = append(report.Checks, gate.check(report, o.LeastRepetitions)...)
	}
	report.Notes = notes(report, o.Plan)
	return report
}

// rowsOf gathers repetitions, which are neighbours in the order of runs, into
// rows.
func rowsOf(runs []Run) []Row {
	var rows []Row
	for _, run := range runs {
		if last := len(rows) - 1; last >= 0 && sameRow(rows[last].Runs[0], run) {
			rows[last].Runs = append(rows[last].Runs, run)
			continue
		}
		rows = append(rows, Row{
			Lab: run.Lab, Number: run.Number, Name: run.Name, Policy: run.Policy.Name,
			Scenario: run.Scenario.Name, Conditions: run.Scenario.words(), Runs: []Run{run},
		})
	}
	columns := slices.Concat(Columns(), tables())
	for i := range rows {
		row := &rows[i]
		row.marks = map[string][]int{}
		row.stats = map[string]Stat{"repetitions": statOf([]float64{float64(len(row.Runs))})}
		for _, c := range columns {
			if c.number != nil {
				row.stats[c.Name] = row.stat(c.number)
			}
		}
	}
	return rows
}

// sortRuns puts runs into the order of rows, and within them of repetitions: that
// of their numbers, then of their names and labs as [Reader.Read] met them first,
// and of the alphabet where it met none.
func sortRuns(runs []Run) {
	names, labs := map[string]int{}, map[string]int{}
	for _, run := range runs {
		first(names, run.Name, run.given)
		first(labs, run.Lab, run.given)
	}
	last := func(number int) uint { return uint(number) - 1 } // 0 comes last
	slices.SortStableFunc(runs, func(a, b Run) int {
		return cmp.Or(
			cmp.Compare(last(a.Number), last(b.Number)),
			cmp.Compare(names[a.Name], names[b.Name]), strings.Compare(a.Name, b.Name),
			cmp.Compare(labs[a.Lab], labs[b.Lab]), strings.Compare(a.Lab, b.Lab),
			cmp.Compare(a.Repetition, b.Repetition),
			strings.Compare(a.File, b.File),
		)
	})
}

// first notes the least place of a name.
func first(places map[string]int, name string, place int) {
	if p, ok := places[name]; !ok || place < p {
		places[name] = place
	}
}

// labsOf are the labs of the rows, in the order in which they were met.
func labsOf(rows []Row) []string {
	places := map[string]int{}
	for _, row := range rows {
		for _, run := range row.Runs {
			first(places, row.Lab, run.given)
		}
	}
	return slices.SortedFunc(maps.Keys(places), func(a, b string) int {
		return cmp.Or(cmp.Compare(places[a], places[b]), strings.Compare(a, b))
	})
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
		a.Setup.VUs == b.Setup.VUs && a.Setup.Rate == b.Setup.Rate && a.Setup.DurationMS == b.Setup.DurationMS
}

func (r Row) stat(number func(Run) (float64, bool)) Stat {
	var values []float64
	for _, run := range r.Runs {
		if v, ok := number(run); ok && !math.IsInf(v, -1) && !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return statOf(values)
}

// Stat returns the row's figure in the column, missing for a column of text.
func (r Row) Stat(c Column) Stat { return r.stats[c.Name] }

// NoDifference says whether the column compares the row with its baseline and
// their repetitions show no significant difference.
func (r Row) NoDifference(c Column) bool {
	change, ok := r.changes[c.Name]
	return ok && !change.TooFew && !change.Significant
}

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
	return r.withLab(label)
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

// LabColumn returns the column of the labs if they tell rows apart, and else none.
func (r Report) LabColumn() []Column {
	if !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.ofLab != "" }) {
		return nil
	}
	return pick("lab")
}

// Columns returns the columns of the report's files: those of the function
// [Columns], and the ones of the baseline if there is one.
func (r Report) Columns() []Column {
	if r.Baseline == "" {
		return Columns()
	}
	return append(Columns(), baselineColumns()...)
}

// Tables returns the tables for people: the summary, the server's work where much
// of it was for nobody, and what each policy bought where there is a baseline.
func (r Report) Tables() []Table {
	head := cmp.Or(groupings()[r.groupBy], "policy")
	out := []Table{{
		Legend: "seen: measured · model: expected if attempts fail independently · " +
			"calls/req.: amplification · in flight: most at once",
		Columns: pick(summary(head)...),
	}}
	if r.Baseline != "" {
		out = append(out, Table{
			Title: "What each policy bought beside " + r.Baseline,
			Legend: "success: in percentage points · calls/req.: more calls for each request · " +
				"per extra call: success that each further call bought · ~: no significant difference",
			Columns: pick(bought(head)...),
		})
	}
	if r.Wasteful() {
		out = append(out, Table{
			Title: "The server's work",
			Legend: "work: shares of the server's busy time · residual: for callers that had left · " +
				"duplicate: for requests answered already · notice: until the server knew that a caller had left",
			Columns: pick(work(head)...),
		})
	}
	if r.Dips() {
		out = append(out, Table{
			Title:   "After the dip",
			Legend:  "recovery: from the end of the dip until as many calls were answered well as before it · model: expected where all calls are worked off",
			Columns: pick(dips(head)...),
		})
	}
	if r.groupBy != "lab" {
		for i := range out {
			out[i].Columns = slices.Insert(out[i].Columns, 2, r.LabColumn()...) // behind the head
		}
	}
	return out
}

// Groups returns the rows by scenario, or what else they are grouped by, in order
// of first appearance, and labs in the order of Labs.
func (r Report) Groups() []Group {
	var groups []Group
	for _, row := range r.Rows {
		title, conditions := row.group(r.groupBy)
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Title == title && g.Conditions == conditions })
		if i < 0 {
			i = len(groups)
			groups = append(groups, Group{Title: title, Conditions: conditions})
		}
		groups[i].Rows = append(groups[i].Rows, row)
	}
	if r.groupBy == "lab" {
		slices.SortStableFunc(groups, func(a, b Group) int {
			return slices.Index(r.Labs, a.Title) - slices.Index(r.Labs, b.Title)
		})
	}
	return groups
}

// group is what a row has in common with the others of its group.
func (r Row) group(by string) (title, conditions string) {
	switch by {
	case "policy":
		return r.PolicyLabel(), ""
	case "lab":
		return r.Lab, ""
	case "none":
		return "all", ""
	}
	return cmp.Or(r.Scenario, "unknown scenario"), r.Conditions
}

// tellLabs has rows of several labs told apart by them, unless their names are
// those of the labs.
func tellLabs(rows []Row, labs []string) {
	if len(labs) < 2 || !slices.ContainsFunc(rows, func(r Row) bool { return r.Name != r.Lab }) {
		return
	}
	for i := range rows {
		rows[i].ofLab = rows[i].Lab
	}
}

// OfLab is the row's lab where the report has rows of several that only it tells
// apart, and else empty.
func (r Row) OfLab() string { return r.ofLab }

// Title names the row in a sentence: by its number and name, and by its lab if
// that is to be told.
func (r Row) Title() string { return r.withLab(strings.TrimSpace(r.number() + " " + r.Name)) }

// short is the row's number, or else its name, and its lab if that is to be told.
func (r Row) short() string { return r.withLab(cmp.Or(r.number(), r.Name)) }

func (r Row) withLab(name string) string {
	if r.ofLab != "" {
		name += " of " + r.ofLab
	}
	return name
}
