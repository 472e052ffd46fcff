package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Gate is something that every row it selects must meet.
type Gate struct{ query }

// String is the gate as it was written.
func (g Gate) String() string { return g.text }

// ParseGates reads gates. The error names all faults of all of them.
func ParseGates(texts []string) ([]Gate, error) {
	var gates []Gate
	var faults []error
	for _, text := range texts {
		gate, err := ParseGate(text)
		gates, faults = append(gates, gate), append(faults, err)
	}
	return gates, errors.Join(faults...)
}

// ParseGate reads a gate: words that select rows, and a condition that the median
// of each of them must meet. Without words it is for all rows.
//
//	amplification<1.5
//	success_rate>=95%
//	downstream_calls/requests<1.6
//	policy=jitter scenario=*-failures amplification<1.5
//	policy="jitter, ignore" http_req_duration:p(95)<300
//
// A metric is a name of [MetricNames], or NAME:STAT of a metric of k6's own (count,
// rate, value, min, max, avg, med, p(95), …); one may be divided by another, run by
// run. The error names all faults.
func ParseGate(text string) (Gate, error) {
	q, err := parseQuery(text)
	if err == nil && !q.asks() {
		err = errors.New("it compares nothing: wanted METRIC, one of <, <=, >, >=, == and !=, and a number")
	}
	if err != nil {
		return Gate{}, fmt.Errorf("gate %q: %w", text, err)
	}
	return Gate{q}, nil
}

// Filter selects rows.
type Filter struct{ query }

// ParseFilters reads filters: words and conditions as in [ParseGate], either of
// which may be left out. The error names all faults of all of them.
func ParseFilters(texts []string) ([]Filter, error) {
	var filters []Filter
	var faults []error
	for _, text := range texts {
		q, err := parseQuery(text)
		if err == nil && q.text == "" {
			err = errors.New("it is empty: wanted policy=NAME, scenario=NAME or METRIC<NUMBER")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("filter %q: %w", text, err))
		}
		filters = append(filters, Filter{q})
	}
	return filters, errors.Join(faults...)
}

// unselected names the filters that select none of the rows, and what there is to
// select; it is empty if there are none such.
func unselected(filters []Filter, rows []Row) string {
	var none []string
	for _, f := range filters {
		if !slices.ContainsFunc(rows, f.keeps) {
			none = append(none, fmt.Sprintf("%q, where %s", f.text, f.among(rows)))
		}
	}
	if len(none) == 0 {
		return ""
	}
	return "no row is selected by " + strings.Join(none, "; nor by ")
}

// keeps says whether a row is selected and meets the condition, if there is one.
func (f Filter) keeps(row Row) bool {
	if !f.selects(row) {
		return false
	}
	if !f.asks() {
		return true
	}
	stat := row.stat(f.figure.number)
	return stat.N > 0 && f.holds(stat.median())
}

// Outcome is what became of a gate at one row.
type Outcome string

// The outcomes, as they are written. A gate that saw no data has failed.
const (
	Passed Outcome = "passed"
	Failed Outcome = "failed"
	NoData Outcome = "no data"
	// Undecided is a row of fewer repetitions than were asked for, or one whose
	// median meets the gate but is not of all its repetitions.
	Undecided Outcome = "too few"
)

// Check is one gate at one row.
type Check struct {
	// Gate is the gate as it was written.
	Gate string
	// Row names the row; empty for a gate that selects none.
	Row     string
	Outcome Outcome
	// Stat is the figure, of the kind Kind.
	Stat Stat
	Kind Kind
	// Metric, Op and Limit say what was asked for.
	Metric, Op string
	Limit      float64
	// Needed is the least number of repetitions, and Repetitions how many the row
	// has, of which Stat.N have the figure.
	Needed, Repetitions int
}

// Bad says whether the check is a failure.
func (c Check) Bad() bool { return c.Outcome == Failed || c.Outcome == NoData }

// check puts the gate to every row that it selects. Gates of no rows at all have
// one check, which says so.
func (g Gate) check(report Report, least int) []Check {
	var checks []Check
	blank := Check{Gate: g.text, Outcome: NoData, Kind: g.figure.kind, Metric: g.figure.name, Op: g.op, Limit: g.limit, Needed: least}
	for _, row := range report.Rows {
		if !g.selects(row) {
			continue
		}
		c := blank
		c.Row, c.Stat, c.Repetitions = row.Title(), row.stat(g.figure.number), len(row.Runs)
		switch {
		case c.Stat.N == 0:
		case c.Stat.N < least:
			c.Outcome = Undecided
		case !g.holds(c.Stat.median()):
			c.Outcome = Failed
		case c.Stat.N < c.Repetitions:
			c.Outcome = Undecided
		default:
			c.Outcome = Passed
		}
		checks = append(checks, c)
	}
	if checks == nil {
		return []Check{blank}
	}
	return checks
}
