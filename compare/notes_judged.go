package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// unselected says which filters select nothing.
func (n *noter) unselected() {
	if text := n.report.Unselected; text != "" {
		n.add("no-row", nil, nil, nil, "%s.", upper(text))
	}
}

// gates says which gates saw nothing, and which could not be decided.
func (n *noter) gates() {
	var blind, few, partial []string
	for _, c := range n.report.Checks {
		what := fmt.Sprintf("%q", c.Gate)
		if c.Row != "" {
			what += " at " + c.Row
		} else {
			what += " at any row"
		}
		switch {
		case c.Outcome == NoData:
			blind = append(blind, what)
		case c.Outcome == Undecided && c.Stat.N < c.Needed:
			few = append(few, fmt.Sprintf("%s (%d of %d)", what, c.Stat.N, c.Needed))
		case c.Outcome == Undecided:
			partial = append(partial, fmt.Sprintf("%s (in %s)", what, ofRepetitions(c.Stat.N, c.Repetitions)))
		}
	}
	if len(blind) > 0 {
		n.add("vacuous-gate", nil, nil, nil, "A gate that saw no data has failed: %s.", list(blind))
	}
	if len(few) > 0 {
		n.add("undecided-gate", nil, nil, nil, "Too few repetitions to decide a gate: %s.", list(few))
	}
	if len(partial) > 0 {
		n.add("undecided-gate", nil, nil, nil, "No gate passes on a figure that some repetitions lack: %s.", list(partial))
	}
}

// partial marks the figures that some repetitions of their row lack: their median
// is that of the others.
func (n *noter) partial() {
	var labels, parts []string
	marked := map[int][]string{}
	for i, row := range n.rows {
		titles := map[int][]string{}
		for _, c := range slices.Concat(Columns(), tables()) {
			if s := row.stats[c.Name]; c.number != nil && s.Known() && s.N < len(row.Runs) {
				titles[s.N], marked[i] = append(titles[s.N], c.Title), append(marked[i], c.Name)
			}
		}
		for _, known := range slices.Sorted(maps.Keys(titles)) {
			labels = append(labels, row.short())
			parts = append(parts, fmt.Sprintf("%s %s in %s", row.short(), some(titles[known]), ofRepetitions(known, len(row.Runs))))
		}
	}
	if len(parts) == 0 {
		return
	}
	n.add("partial", slices.Compact(labels), nil, nil,
		"Some repetitions lack the figure, and the median is that of the others: %s.", strings.Join(parts, "; "))
	for _, i := range slices.Sorted(maps.Keys(marked)) {
		n.mark([]int{i}, marked[i])
	}
}

// ofRepetitions is "1 of 6 repetitions".
func ofRepetitions(n, all int) string { return fmt.Sprintf("%d of %s", n, plural(all, "repetition")) }

// baseline marks the differences that repetitions are too few to tell from
// chance, and names the rows that have nothing to be compared with.
func (n *noter) baseline() {
	if n.report.Baseline == "" {
		return
	}
	var few, alone []string
	var rows []int
	for i, row := range n.rows {
		change, ok := row.changes["extra_success"]
		switch {
		case ok && change.TooFew:
			few, rows = append(few, row.short()), append(rows, i)
		case !ok && !row.isPolicy(n.report.Baseline):
			alone = append(alone, row.short())
		}
	}
	columns := []string{"extra_success", "extra_calls", "extra_success_per_extra_call"}
	if len(few) > 0 {
		n.add("baseline-too-few", few, rows, columns,
			"Too few repetitions to tell the difference to the baseline from chance: it takes 4 of each.")
	}
	if len(alone) > 0 {
		n.add("baseline-missing", alone, nil, nil, "No row of %s to compare with in the lab and scenario of %s.", n.report.Baseline, list(alone))
	}
}

// olderThanPlan tells labs whose runs are not those of their plan as it is now.
func (n *noter) olderThanPlan(plan func(name string) map[int]string) {
	if plan == nil {
		return
	}
	var seen, parts []string
	for _, row := range n.rows {
		setup := row.Runs[0].Setup
		if setup == nil || row.Number == 0 {
			continue
		}
		now := plan(setup.Plan)
		if now == nil || now[row.Number] == row.Name {
			continue
		}
		if !slices.Contains(seen, row.Lab) {
			seen = append(seen, row.Lab)
		}
		is := "no run"
		if name := now[row.Number]; name != "" {
			is = name
		}
		parts = append(parts, fmt.Sprintf("%s is %s now", row.Title(), is))
	}
	if len(parts) > 0 {
		n.add("older-than-plan", nil, nil, nil, "The plan has changed since %s was run: %s.", list(seen), strings.Join(parts, "; "))
	}
}
