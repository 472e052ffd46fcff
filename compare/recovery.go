package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/retrylab/retrylab/theory"
)

// recovered is the share of the good answers before a dip from which on it counts as
// over, and recoveredSeconds in how many seconds in a row.
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

// watched is how long the run went on after the dip, in seconds.
func (d dip) watched() float64 { return float64(d.rest[len(d.rest)-1].T+1) - d.until }

// heldBack says whether the server did well in the last seconds, and was just not
// asked: a guard of the policy refused the requests.
func (d dip) heldBack() bool {
	for _, s := range d.rest[len(d.rest)-recoveredSeconds:] {
		if s.Lost > 0 || s.Received >= recovered*d.before {
			return false
		}
	}
	return true
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

// recovery is how long after the end of the dip as many calls were answered well as
// before it, in seconds: to the start of the first seconds in a row in each of which
// they were. It is +Inf where that never was, and missing where there was no dip.
func (r Run) recovery() (float64, bool) {
	d, ok := r.dip()
	if !ok {
		return 0, false
	}
	for i := range d.rest[:len(d.rest)-recoveredSeconds+1] {
		window := d.rest[i : i+recoveredSeconds]
		inARow := window[recoveredSeconds-1].T == window[0].T+recoveredSeconds-1
		if inARow && !slices.ContainsFunc(window, func(s Second) bool { return s.Good < recovered*d.before }) {
			return float64(window[0].T) - d.until, true
		}
	}
	return math.Inf(1), true
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
	if _, ok := r.dip(); !ok {
		return 0, false
	}
	e, _ := r.expectRecovery()
	return e.Value()
}

// Dips says whether some row's server had a failure that ended under load.
func (r Report) Dips() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool {
		return slices.ContainsFunc(row.Runs, func(run Run) bool { _, ok := run.dip(); return ok })
	})
}

// lost is the dip of a run that saw its end and no recovery.
func (r Run) lost() (dip, bool) {
	d, _ := r.dip()
	seconds, ok := r.recovery()
	return d, ok && math.IsInf(seconds, 1)
}

// unrecovered names the rows in which it was not as before when the cause was gone.
func (n *noter) unrecovered() {
	var labels, parts []string
	var rows []int
	for i, row := range n.rows {
		lost, heldBack, longest := 0, 0, 0.0
		for _, run := range row.Runs {
			if d, ok := run.lost(); ok {
				lost++
				longest = max(longest, d.watched())
				if d.heldBack() {
					heldBack++
				}
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
		e, stays := row.Runs[0].expectRecovery()
		expected, known := e.Value()
		switch {
		case heldBack == len(row.Runs):
			part += ", where the server did well in the end and the policy held the calls back"
		case heldBack > 0:
			part += fmt.Sprintf(", where the server did well in the end in %d and the policy held the calls back", heldBack)
		case stays && lost == len(row.Runs):
			part += ", as expected"
		case known && expected+recoveredSeconds > longest:
			part += fmt.Sprintf(", where %s s are expected: run longer", decimal(math.Round(10*expected)/10))
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		n.add("unrecovered", labels, rows, []string{"recovery_s"},
			"It was not as before, though what ailed the server was over: %s.", strings.Join(parts, "; "))
	}
}

// shortOfTheDip names the rows whose load ended too soon to see a dip through.
func (n *noter) shortOfTheDip() {
	var labels []string
	n.each(func(_ int, label string, run Run) {
		if _, seen := run.dip(); run.Setup != nil && run.Scenario.Params["until_ms"] > 0 && len(run.Series) > 0 && !seen {
			labels = append(labels, label)
		}
	})
	if len(labels) > 0 {
		n.add("short-of-the-dip", labels, nil, nil,
			"The load began too late, or ended too soon, to tell the time of recovery from the scenario's dip: %s. It takes 2 s before and 2 s after it.", scope(labels, n.total()))
	}
}
