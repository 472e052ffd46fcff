package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/retrylab/retrylab/theory"
)

// recovered is the share of the good answers before a dip from which on a server
// counts as well again, and recoveredSeconds over how many seconds in a row.
const (
	recovered        = 0.9
	recoveredSeconds = 2
)

// dip is a failure of the server that ends while the load goes on.
type dip struct {
	until  float64 // second at which it ends, from the run's start
	before float64 // good answers per second until it began
	rest   []Second
}

// dip returns the run's dip: that of a scenario with the parameters from_ms,
// until_ms and, for a way back, recovery_ms. There is none where the run saw not two
// whole seconds before it, of which the first is that of the start, or not
// [recoveredSeconds] after it.
func (r Run) dip() (dip, bool) {
	p := r.Scenario.Params
	if r.Setup == nil || p["until_ms"] <= 0 {
		return dip{}, false
	}
	from, d := p["from_ms"]/1000, dip{until: (p["until_ms"] + p["recovery_ms"]) / 1000}
	var before []float64
	for _, s := range r.Series {
		switch t := float64(s.T); {
		case t >= 1 && t+1 <= from:
			before = append(before, s.Good)
		case t >= d.until && t+1 <= r.Setup.DurationMS/1000:
			d.rest = append(d.rest, s)
		}
	}
	for _, good := range before {
		d.before += good / float64(len(before))
	}
	return d, d.before > 0 && len(d.rest) >= recoveredSeconds
}

// recovery is how long after the end of the dip the server answered as many calls
// well as before it, in seconds: to the start of the first seconds in a row that do.
// It is missing where there was no dip, and where the server did not recover.
func (r Run) recovery() (float64, bool) {
	d, ok := r.dip()
	if !ok {
		return 0, false
	}
	for i := range d.rest[:len(d.rest)-recoveredSeconds+1] {
		window, sum := d.rest[i:i+recoveredSeconds], 0.0
		for _, s := range window {
			sum += s.Good
		}
		inARow := window[recoveredSeconds-1].T == window[0].T+recoveredSeconds-1
		if inARow && sum >= recovered*d.before*recoveredSeconds {
			return math.Max(float64(window[0].T)-d.until, 0), true
		}
	}
	return 0, false
}

// expectRecovery is what theory says of the recovery, and whether that is never.
func (r Run) expectRecovery() (e theory.Expectation, stays bool) {
	if len(r.Tiers) > 0 {
		return theory.OutsideModel("tiers between the caller and the server retry too"), false
	}
	load := 0.0
	if r.Setup != nil {
		load = r.Setup.Rate
	}
	p, s := r.model()
	return theory.ExpectRecovery(p, s, load)
}

func (r Run) expectedRecovery() (float64, bool) {
	e, _ := r.expectRecovery()
	return e.Value()
}

// Dips says whether some row's server had a failure that ended under load.
func (r Report) Dips() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool {
		return slices.ContainsFunc(row.Runs, func(run Run) bool { _, ok := run.dip(); return ok })
	})
}

// unrecovered names the rows whose server stayed down when the cause was gone.
func (n *noter) unrecovered() {
	var labels, parts []string
	var rows []int
	for i, row := range n.rows {
		lost, longest := 0, 0.0
		for _, run := range row.Runs {
			d, ok := run.dip()
			if _, back := run.recovery(); ok && !back {
				lost++
				longest = max(longest, run.Setup.DurationMS/1000-d.until)
			}
		}
		if lost == 0 {
			continue
		}
		labels, rows = append(labels, row.short()), append(rows, i)
		part := fmt.Sprintf("%s in %s s", row.short(), decimal(longest))
		if len(row.Runs) > 1 {
			part += fmt.Sprintf(" (%s)", ofRepetitions(lost, len(row.Runs)))
		}
		if _, stays := row.Runs[0].expectRecovery(); stays {
			part += ", as expected"
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		n.add("unrecovered", labels, rows, []string{"recovery_s"},
			"The server did not recover, though what ailed it was over: %s.", strings.Join(parts, "; "))
	}
}
