package render

import (
	"fmt"
	"slices"

	"github.com/retrylab/retrylab/compare"
)

// gateResult is one gate and what became of it at each row.
type gateResult struct {
	gate   string
	checks []compare.Check
}

// gateResults gathers the checks by gate.
func gateResults(checks []compare.Check) []gateResult {
	var out []gateResult
	for _, c := range checks {
		i := slices.IndexFunc(out, func(g gateResult) bool { return g.gate == c.Gate })
		if i < 0 {
			i = len(out)
			out = append(out, gateResult{gate: c.Gate})
		}
		out[i].checks = append(out[i].checks, c)
	}
	return out
}

// outcome is Failed if any row failed, or else Undecided if any was, or else Passed.
func (g gateResult) outcome() compare.Outcome {
	out := compare.Passed
	for _, c := range g.checks {
		switch {
		case c.Bad():
			return compare.Failed
		case c.Outcome == compare.Undecided:
			out = compare.Undecided
		}
	}
	return out
}

// sign is the outcome in one character.
func (g gateResult) sign() string {
	switch g.outcome() {
	case compare.Passed:
		return "✓"
	case compare.Undecided:
		return "?"
	}
	return "✗"
}

// count says in how many rows the gate has passed.
func (g gateResult) count() string {
	passed := 0
	for _, c := range g.checks {
		if c.Outcome == compare.Passed {
			passed++
		}
	}
	if g.checks[0].Row == "" {
		return "no row is selected"
	}
	rows := "rows"
	if len(g.checks) == 1 {
		rows = "row"
	}
	return fmt.Sprintf("passed in %d of %d %s", passed, len(g.checks), rows)
}

// why says what a check saw and what was wanted.
func why(c compare.Check) string {
	wanted := fmt.Sprintf("wanted %s %s", c.Op, limit(c))
	switch {
	case c.Row == "":
		return "it saw no data: no row is selected"
	case c.Outcome == compare.NoData:
		return fmt.Sprintf("%s: it saw no data: %s is missing, %s", c.Row, c.Metric, wanted)
	case c.Outcome == compare.Undecided:
		if c.Stat.N < c.Needed {
			return fmt.Sprintf("%s: %s %s, %s: too few repetitions, %d of %d", c.Row, c.Metric, seen(c), wanted, c.Stat.N, c.Needed)
		}
	}
	text := fmt.Sprintf("%s: %s %s, %s", c.Row, c.Metric, seen(c), wanted)
	if c.Stat.N < c.Repetitions {
		text += fmt.Sprintf(": it is in %d of %d repetitions", c.Stat.N, c.Repetitions)
	}
	return text
}

// seen is the figure with as many digits as it takes to tell it from the limit.
func seen(c compare.Check) string {
	if !c.Stat.Known() {
		return fmt.Sprintf("is beyond what was watched in %d of %d repetitions", c.Stat.Beyond, c.Repetitions)
	}
	text := figure(c.Kind, c.Stat.Value)
	if text == figure(c.Kind, c.Limit) && c.Stat.Value != c.Limit {
		text = precise(c.Kind, c.Stat.Value)
	}
	if low, high := figure(c.Kind, c.Stat.Low), figure(c.Kind, c.Stat.High); c.Stat.N > 1 && low != high {
		text += " (" + low + "–" + high + ")"
	}
	return text
}

// limit is the limit in the figure's kind.
func limit(c compare.Check) string { return precise(c.Kind, c.Limit) }

// precise is a value of the kind to 6 decimals.
func precise(kind compare.Kind, v float64) string {
	switch kind {
	case compare.Share:
		return exact(100*v) + "%"
	case compare.Points:
		return exact(100*v) + " pt"
	}
	return exact(v)
}
