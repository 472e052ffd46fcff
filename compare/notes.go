package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Note is a doubt about figures, or what a reader must know to read them.
type Note struct {
	// Kind names the doubt for programs, such as "outside-model".
	Kind string `json:"kind"`
	// Mark is the number that marks the figures in question, from 1; 0 if the
	// note marks none.
	Mark int `json:"mark"`
	// Runs are the runs concerned, empty for all of them.
	Runs []string `json:"runs"`
	// Text is a sentence or more.
	Text string `json:"text"`
}

// noter collects notes and marks rows.
type noter struct {
	report Report
	rows   []Row
	notes  []Note
	marks  int
}

func notes(report Report, plan func(name string) map[int]string) []Note {
	n := &noter{report: report, rows: report.Rows}
	for _, write := range []func(){
		n.unselected, n.gates, n.exitCodes, n.partial, n.capped, n.unrecovered, n.shortOfTheDip, n.deviations, n.outsideModel, n.baseline, n.tiers, n.serverAboveCaller, n.counts,
		n.repetitions, n.short, n.closedLoop, func() { n.olderThanPlan(plan) }, n.noHTTP, n.noPolicy, n.severalLabs,
	} {
		write()
	}
	return n.notes
}

// add adds a note about labelled runs. The rows, by index, are marked with it in
// the columns; without columns the note has no mark.
func (n *noter) add(kind string, labels []string, rows []int, columns []string, format string, args ...any) {
	n.notes = append(n.notes, Note{Kind: kind, Runs: labels, Text: fmt.Sprintf(format, args...)})
	n.mark(rows, columns)
}

// mark marks the columns of the rows with the last note.
func (n *noter) mark(rows []int, columns []string) {
	note := &n.notes[len(n.notes)-1]
	if len(columns) == 0 || len(rows) == 0 {
		return
	}
	if note.Mark == 0 {
		n.marks++
		note.Mark = n.marks
	}
	for _, i := range slices.Compact(rows) {
		for _, column := range columns {
			n.rows[i].marks[column] = append(n.rows[i].marks[column], note.Mark)
		}
	}
}

// each calls f for every run with its row's index and its label.
func (n *noter) each(f func(i int, label string, run Run)) {
	for i, row := range n.rows {
		for _, run := range row.Runs {
			f(i, row.label(run), run)
		}
	}
}

// total is the number of runs in all rows.
func (n *noter) total() int {
	sum := 0
	for _, row := range n.rows {
		sum += len(row.Runs)
	}
	return sum
}

func (n *noter) exitCodes() {
	var labels, parts []string
	n.each(func(_ int, label string, run Run) {
		if run.Setup != nil && run.Setup.ExitCode != 0 {
			labels = append(labels, label)
			parts = append(parts, fmt.Sprintf("%s with %d", label, run.Setup.ExitCode))
		}
	})
	if len(labels) > 0 {
		n.add("exit-code", labels, nil, nil, "The runner ended with an exit code other than 0: %s (99 is a failed threshold).", list(parts))
	}
}

func (n *noter) capped() {
	isCapped := func(run Run, key string) bool {
		v, ok := run.Metrics.value("resilience_attempt_duration", Trend, key)
		timeouts, okT := run.Metrics.ours("resilience_timeouts")
		limit := run.Policy.AttemptTimeoutMS
		return ok && okT && timeouts > 0 && limit > 0 && v >= .99*limit
	}
	var labels []string
	var p95, p99 []int
	n.each(func(i int, label string, run Run) {
		at95, at99 := isCapped(run, "p(95)"), isCapped(run, "p(99)")
		if at95 {
			p95 = append(p95, i)
		}
		if at99 {
			p99 = append(p99, i)
		}
		if at95 || at99 {
			labels = append(labels, label)
		}
	})
	if len(labels) > 0 {
		n.add("capped", labels, p95, []string{"all_attempt_p95_ms"},
			"The caller's own timeout caps the attempts' p95 or p99 in %s: the server would have taken longer.", scope(labels, n.total()))
		n.mark(p99, []string{"all_attempt_p99_ms"})
	}
}

func (n *noter) outsideModel() {
	type found struct {
		labels         []string
		rows, recovery []int
	}
	var reasons []string
	by := map[string]*found{}
	because := func(reason, label string) *found {
		f := by[reason]
		if f == nil {
			f = &found{}
			by[reason] = f
			reasons = append(reasons, reason)
		}
		if len(f.labels) == 0 || f.labels[len(f.labels)-1] != label {
			f.labels = append(f.labels, label)
		}
		return f
	}
	n.each(func(i int, label string, run Run) {
		reason := run.expect().Success.Reason()
		if run.Setup == nil {
			reason = "what was run is not known without its run.json"
		}
		if reason != "" {
			f := because("Outside model: "+reason, label)
			f.rows = append(f.rows, i)
		}
		if _, dipped := run.dip(); !dipped {
			return
		}
		e, stays := run.expectRecovery()
		switch {
		case stays:
			f := because("Never, by the model: "+e.Reason(), label)
			f.recovery = append(f.recovery, i)
		case e.Reason() != "":
			f := because("Outside model: "+e.Reason(), label)
			f.recovery = append(f.recovery, i)
		}
	})
	for _, reason := range reasons {
		f := by[reason]
		n.add("outside-model", f.labels, f.rows, []string{"expected_success_rate", "expected_amplification"},
			"%s.", reason)
		n.mark(f.recovery, []string{"expected_recovery_s"})
	}
}

func (n *noter) repetitions() {
	repeated, most := 0, 0
	for _, row := range n.rows {
		most = max(most, len(row.Runs))
		if len(row.Runs) > 1 {
			repeated++
		}
		for _, run := range row.Runs[1:] {
			if !alike(row.Runs[0], run) {
				n.add("repetitions-differ", []string{row.label(run)}, nil, nil,
					"Run %s differs from %s in policy, scenario or load: their median means little.", row.label(run), row.label(row.Runs[0]))
			}
		}
	}
	switch {
	case repeated == 0 && len(n.rows) > 0:
		n.add("repetitions", nil, nil, nil, "One run of each: what of a difference is chance cannot be told. Repeat runs before you believe a small one.")
	case repeated > 0 && most < leastForInterval:
		n.add("repetitions", nil, nil, nil,
			"Rows of several repetitions show medians, with the range from the least to the greatest. A 95%% interval of a median takes %d repetitions.", leastForInterval)
	case repeated > 0:
		n.add("repetitions", nil, nil, nil,
			"Rows of several repetitions show medians, with the range from the least to the greatest and, where it is narrower, the 95%% interval of the median in brackets. It takes %d repetitions.", leastForInterval)
	}
}

// leastForInterval is how many repetitions [Stat.Interval] needs: with fewer the
// range from the least to the greatest misses the median with 2·2⁻ⁿ > 5 %.
const leastForInterval = 6

// shortRun is the time in seconds below which a run's start and end weigh.
const shortRun = 30

func (n *noter) short() {
	var labels []string
	var least, most float64
	n.each(func(_ int, label string, run Run) {
		s, ok := run.seconds()
		if !ok || s >= shortRun {
			return
		}
		if len(labels) == 0 {
			least, most = s, s
		}
		least, most = min(least, s), max(most, s)
		labels = append(labels, label)
	})
	if len(labels) == 0 {
		return
	}
	span := fmt.Sprintf("%.1f s", least)
	if most-least >= .05 {
		span = fmt.Sprintf("%.1f to %.1f s", least, most)
	}
	n.add("short", labels, nil, nil,
		"%s took %s: in less than %d s the start and the last calls weigh. A first look, and no claim.",
		upper(scope(labels, n.total())), span, shortRun)
}

// unequal is how many times the requests of a group's least row its greatest one
// may have before the difference in load is worth naming.
const unequal = 1.1

// closedLoop says whose callers waited for their answers, and where that made
// them offer unequal loads.
func (n *noter) closedLoop() {
	closed := func(row Row) bool { return row.Runs[0].Setup != nil && row.Runs[0].Setup.VUs > 0 }
	if !slices.ContainsFunc(n.rows, closed) {
		return
	}
	requests := map[string][]float64{}
	var order []string
	for _, row := range n.rows {
		if s := row.stats["total_requests"]; s.Known() && closed(row) {
			name := cmp.Or(row.Scenario, "unknown scenario")
			if requests[name] == nil {
				order = append(order, name)
			}
			requests[name] = append(requests[name], s.Value)
		}
	}
	var parts []string
	for _, name := range order {
		if least, most := slices.Min(requests[name]), slices.Max(requests[name]); most > unequal*least {
			parts = append(parts, fmt.Sprintf("%s %s to %s requests", name, decimal(least), decimal(most)))
		}
	}
	loads := ""
	if len(parts) > 0 {
		loads = " Loads differ here: " + strings.Join(parts, ", ") + "."
	}
	n.add("closed-loop", nil, nil, nil,
		"Closed loop: each caller waits for its answer before it asks again, so a policy that answers faster offers more load. Compare rates and not totals.%s", loads)
}

// noHTTP explains why runs of our policies lack a metric of k6/http. Of a script
// that counts under other names nobody here knows who makes its calls.
func (n *noter) noHTTP() {
	var labels []string
	var rows []int
	n.each(func(i int, label string, run Run) {
		_, counted := run.Metrics[requests]
		if _, ok := run.httpFailed(); !ok && counted && run.Metrics[requests].Of == nil {
			labels, rows = append(labels, label), append(rows, i)
		}
	})
	if len(labels) > 0 {
		n.add("no-http-metrics", labels, rows, nil,
			"http_req_failed is missing in %s: the policies' calls are made in Go and not by k6/http.", scope(labels, n.total()))
	}
}

func (n *noter) severalLabs() {
	if labs := n.report.Labs; len(labs) > 1 {
		n.add("labs", nil, nil, nil, "The rows come from %s: %s.", plural(len(labs), "lab"), list(labs))
	}
}

// scope is "all 9 runs", "7 of 9 runs" or, if they are few, the runs by name.
func scope(labels []string, total int) string {
	switch {
	case len(labels) == total && total > 1:
		return allOf(total)
	case len(labels) > 4:
		return fmt.Sprintf("%d of %d runs", len(labels), total)
	}
	return runsWord(labels)
}

// allOf is "all 17 runs", or "the one run".
func allOf(n int) string {
	if n == 1 {
		return "the one run"
	}
	return fmt.Sprintf("all %d runs", n)
}

// runsWord is "run 05" or "runs 05 and 06".
func runsWord(labels []string) string {
	word := "runs "
	if len(labels) == 1 {
		word = "run "
	}
	return word + list(labels)
}

// upper puts the first letter, an ASCII one, in upper case.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// signed is a count with its sign.
func signed(v float64) string {
	if v > 0 {
		return "+" + decimal(v)
	}
	return decimal(v)
}
