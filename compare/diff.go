package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// DiffOptions are how two labs are compared. The zero DiffOptions judge the
// figures of [DiffColumns] with [DefaultFloors] at [DefaultAlpha].
type DiffOptions struct {
	// Columns are the figures that are judged.
	Columns []Column
	// Floors are the greatest differences that do not matter; a figure without
	// one has its default, if it has any.
	Floors Floors
	// Alpha is the level of significance, in (0, 1).
	Alpha float64
	// Filters keep the rows that any of them selects; none keep all. What they
	// ask of a figure they ask of the base's.
	Filters []Filter
}

// Diff is what changed from a base to a head. The zero Diff is of nothing.
type Diff struct {
	// Base and Head say what is compared: their labs.
	Base, Head []string
	// Setting says in one line how the runs were made, as far as they agree.
	Setting string
	Columns []Column
	Floors  Floors
	Alpha   float64
	// Rows are in the order of the base's.
	Rows []DiffRow
	// Gone are the rows of the base that the head lacks.
	Gone []string
	// Unselected says which filters select no row, and what there is to select;
	// empty for none.
	Unselected string
	Notes      []Note
	Warnings   []Warning
}

// DiffRow is one policy in one scenario, in the base and in the head.
type DiffRow struct {
	Name, Policy, Scenario, Conditions string
	// Base and Head are how many repetitions there were.
	Base, Head int
	// Figures are in the order of the diff's columns.
	Figures []Judgement
}

// Judgement is a figure's change and what it means.
type Judgement struct {
	Change
	Column  Column
	Verdict Verdict
	Floor   Floor
}

// ParseMetrics returns the columns of these names, as [ParseGate] knows them. The
// error names all that are unknown or have no better direction.
func ParseMetrics(names []string) ([]Column, error) {
	var out []Column
	var faults []string
	for _, name := range names {
		column, err := judged(strings.TrimSpace(name))
		switch {
		case err != nil:
			faults = append(faults, err.Error())
		case column.Better == Neither:
			faults = append(faults, fmt.Sprintf("metric %q is neither better nor worse for being higher", name))
		default:
			out = append(out, column)
		}
	}
	if faults != nil {
		return nil, fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	return out, nil
}

// Build compares the runs of a base with those of a head. Rows are matched by the
// name of their runs, whatever their number, and all runs of a name on one side
// are repetitions of it, from whatever labs they come: so can labs of one
// repetition each be made in turn, base and head.
func (o DiffOptions) Build(base, head []Run, warnings ...Warning) Diff {
	if o.Alpha == 0 {
		o.Alpha = DefaultAlpha
	}
	if o.Columns == nil {
		o.Columns = DiffColumns()
	}
	d := Diff{
		Base: labs(base), Head: labs(head), Setting: setting(slices.Concat(base, head)),
		Floors: Floors{}, Alpha: o.Alpha, Warnings: warnings,
	}
	before, after := pooled(base), pooled(head)
	for _, c := range o.Columns {
		if slices.ContainsFunc(slices.Concat(before, after), func(r Row) bool { return r.Stat(c).N > 0 }) {
			d.Columns = append(d.Columns, c) // the others nobody has counted
		}
	}
	defaults := DefaultFloors()
	for _, c := range d.Columns {
		floor, ok := o.Floors[c.Name]
		if !ok {
			floor = defaults[c.Name]
		}
		d.Floors[c.Name] = floor
	}
	for _, row := range before {
		i := slices.IndexFunc(after, func(r Row) bool { return r.Name == row.Name })
		switch {
		case !o.keeps(row):
		case i < 0:
			d.Gone = append(d.Gone, row.Name)
			d.note("only-in-base", row.Name, "Only in the base, so that it cannot be judged: %s.")
		default:
			d.add(row, after[i])
		}
	}
	all := slices.Clone(before)
	for _, row := range after {
		if slices.ContainsFunc(before, func(r Row) bool { return r.Name == row.Name }) {
			continue
		}
		all = append(all, row)
		if o.keeps(row) {
			d.note("only-in-head", row.Name, "Only in the head: %s.")
		}
	}
	if d.Unselected = unselected(o.Filters, all); d.Unselected != "" {
		d.Notes = append(d.Notes, Note{Kind: "no-row", Text: upper(d.Unselected) + "."})
	}
	d.notePartial()
	d.noteBeyond()
	d.noteChance()
	return d
}

func (o DiffOptions) keeps(row Row) bool {
	return len(o.Filters) == 0 || slices.ContainsFunc(o.Filters, func(f Filter) bool { return f.keeps(row) })
}

func labs(runs []Run) []string {
	var out []string
	for _, run := range runs {
		if !slices.Contains(out, run.Lab) {
			out = append(out, run.Lab)
		}
	}
	slices.Sort(out)
	return out
}

// pooled are the rows of the runs, with those of one name together whatever their
// lab.
func pooled(runs []Run) []Row {
	runs = slices.Clone(runs)
	number := map[string]int{}
	for _, run := range runs {
		if n, ok := number[run.Name]; !ok || run.Number < n {
			number[run.Name] = run.Number
		}
	}
	for i := range runs {
		runs[i].Lab, runs[i].Number = "", number[runs[i].Name]
	}
	sortRuns(runs)
	return rowsOf(runs)
}

func (d *Diff) add(base, head Row) {
	row := DiffRow{
		Name: base.Name, Policy: base.PolicyLabel(), Scenario: base.Scenario, Conditions: head.Conditions,
		Base: len(base.Runs), Head: len(head.Runs),
	}
	for _, c := range d.Columns {
		j := Judgement{Change: newChange(base.Stat(c), head.Stat(c), d.Alpha), Column: c, Floor: d.Floors[c.Name]}
		j.Verdict = j.verdict(c.Better, j.Floor)
		row.Figures = append(row.Figures, j)
	}
	d.Rows = append(d.Rows, row)
	runs := slices.Concat(base.Runs, head.Runs)
	if slices.ContainsFunc(runs, func(r Run) bool { return !alike(runs[0], r) }) {
		d.note("settings-differ", row.Name, "Policy, scenario or load differ between the base and the head, or within one: %s.")
	}
}

// note adds the name to the note of this kind.
func (d *Diff) note(kind, name, format string) {
	i := slices.IndexFunc(d.Notes, func(n Note) bool { return n.Kind == kind })
	if i < 0 {
		i = len(d.Notes)
		d.Notes = append(d.Notes, Note{Kind: kind})
	}
	d.Notes[i].Runs = append(d.Notes[i].Runs, name)
	d.Notes[i].Text = fmt.Sprintf(format, list(d.Notes[i].Runs))
}

// notePartial says which figures some repetitions of a side lack.
func (d *Diff) notePartial() {
	for _, row := range d.Rows {
		for _, j := range row.Figures {
			for _, side := range []struct {
				name  string
				n, of int
			}{{"base", j.Base.N, row.Base}, {"head", j.Head.N, row.Head}} {
				if side.n > 0 && side.n < side.of {
					d.note("partial", fmt.Sprintf("%s %s in %s of the %s", row.Name, j.Column.Title, ofRepetitions(side.n, side.of), side.name),
						"Some repetitions lack the figure, and it is judged by the others: %s.")
				}
			}
		}
	}
}

// noteBeyond says which figures were greater than could be seen.
func (d *Diff) noteBeyond() {
	for _, row := range d.Rows {
		for _, j := range row.Figures {
			for _, side := range []struct {
				name string
				stat Stat
			}{{"base", j.Base}, {"head", j.Head}} {
				if side.stat.Beyond > 0 {
					d.note("beyond", fmt.Sprintf("%s %s in %s of the %s", row.Name, j.Column.Title, ofRepetitions(side.stat.Beyond, side.stat.N), side.name),
						"Beyond what was watched, which counts as greater than all: %s.")
				}
			}
		}
	}
}

// noteChance says how many repetitions a verdict takes, and how many verdicts
// chance alone would give.
func (d *Diff) noteChance() {
	tested, few := 0, 0
	for _, row := range d.Rows {
		for _, j := range row.Figures {
			switch j.Verdict {
			case Missing:
			case TooFew:
				few++
			default:
				tested++
			}
		}
	}
	if few > 0 {
		d.Notes = append(d.Notes, Note{Kind: "too-few", Text: fmt.Sprintf(
			"Too few repetitions in %s: no difference could be significant at %s. It takes %d on each side; 6 or more are better.",
			plural(few, "comparison"), decimal(d.Alpha), leastRepetitions(d.Alpha))})
	}
	if tested > 0 {
		d.Notes = append(d.Notes, Note{Kind: "chance", Text: fmt.Sprintf(
			"%s tested at %s: where nothing changed, about %s would still differ, by chance. The floors are there for these.",
			upper(plural(tested, "comparison")), decimal(d.Alpha), decimal(math.Round(10*float64(tested)*d.Alpha)/10))})
	}
}

// leastRepetitions is how many repetitions on each side a significant difference
// takes.
func leastRepetitions(alpha float64) int {
	n := 1
	for leastP(n, n) > alpha && n < 100 {
		n++
	}
	return n
}

// Count is how many figures have the verdict.
func (d Diff) Count(v Verdict) int {
	n := 0
	for _, row := range d.Rows {
		for _, j := range row.Figures {
			if j.Verdict == v {
				n++
			}
		}
	}
	return n
}

// Outcome is what the diff comes to as a whole: Worse if any figure is, or else
// TooFew if anything could not be judged, for which see Unjudged, or else Better or
// Alike.
func (d Diff) Outcome() Verdict {
	switch {
	case d.Count(Worse) > 0:
		return Worse
	case d.Unjudged() != "":
		return TooFew
	case d.Count(Better) > 0:
		return Better
	}
	return Alike
}

// Unjudged says what of the base could not be judged: rows that the head lacks,
// figures that it lacks or has in a smaller part of its repetitions than the base,
// and comparisons of too few repetitions. It is empty where all was judged.
func (d Diff) Unjudged() string {
	var parts []string
	if len(d.Gone) > 0 {
		parts = append(parts, "only in the base: "+list(d.Gone))
	}
	if n := d.lost(); n > 0 {
		parts = append(parts, plural(n, "figure")+" missing in some or all repetitions of the head")
	}
	if n := d.Count(TooFew); n > 0 {
		parts = append(parts, "too few repetitions in "+plural(n, "comparison"))
	}
	if len(parts) == 0 && d.Count(Better)+d.Count(Alike)+d.Count(Changed) == 0 {
		parts = append(parts, "the base and the head have no figure in common")
		for _, note := range d.Notes {
			if note.Kind == "only-in-head" {
				parts = append(parts, "only in the head: "+list(note.Runs))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// lost is how many figures the head has in a smaller part of its repetitions than
// the base, or not at all.
func (d Diff) lost() int {
	n := 0
	for _, row := range d.Rows {
		for _, j := range row.Figures {
			if j.Head.N*row.Base < j.Base.N*row.Head {
				n++
			}
		}
	}
	return n
}
