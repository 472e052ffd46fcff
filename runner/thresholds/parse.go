// Package thresholds reads k6's pass/fail criteria, checks them against the
// metrics of a run and evaluates them.
package thresholds

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Expr is a parsed criterion: `<aggregation> <op> <number>`.
type Expr struct {
	// Aggregation is avg, min, med, max, p, count, rate or value.
	Aggregation string
	// Percentile is the number of p(…), in [0, 100].
	Percentile float64
	// Op is >, >=, <, <=, ==, === or !=.
	Op string
	// Bound is what the aggregate is compared with.
	Bound float64
}

// operators, the longer ones before their own beginnings.
var operators = [...]string{"===", "<=", ">=", "==", "!=", "<", ">"}

var aggregations = [...]string{"avg", "min", "med", "max", "p(N)", "count", "rate", "value"}

// Parse reads a criterion: white space may stand around it and around its
// operator, as in k6. Unlike k6 it takes no infinite bound. Its errors quote the text and what is allowed.
func Parse(text string) (Expr, error) {
	at, op := -1, ""
	for i := 0; i < len(text) && at < 0; i++ {
		for _, o := range operators {
			if strings.HasPrefix(text[i:], o) {
				at, op = i, o
				break
			}
		}
	}
	if at < 0 {
		return Expr{}, fmt.Errorf("threshold %q: no operator, want one of %s", text, strings.Join(operators[:], ", "))
	}
	left, right := strings.TrimSpace(text[:at]), strings.TrimSpace(text[at+len(op):])
	e := Expr{Op: op}
	switch left {
	case "avg", "min", "med", "max", "count", "rate", "value":
		e.Aggregation = left
	default:
		pct, ok := percentile(left)
		if !ok {
			return Expr{}, fmt.Errorf("threshold %q: unknown aggregation %q, want one of %s with N in [0, 100]", text, left, strings.Join(aggregations[:], ", "))
		}
		e.Aggregation, e.Percentile = "p", pct
	}
	bound, err := strconv.ParseFloat(right, 64)
	if err != nil || math.IsNaN(bound) || math.IsInf(bound, 0) {
		return Expr{}, fmt.Errorf("threshold %q: %q is not a number", text, right)
	}
	e.Bound = bound
	return e, nil
}

func percentile(s string) (float64, bool) {
	inner, ok := strings.CutPrefix(s, "p(")
	if !ok {
		return 0, false
	}
	inner, ok = strings.CutSuffix(inner, ")")
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(inner, 64)
	if err != nil || !(v >= 0 && v <= 100) {
		return 0, false
	}
	return v, true
}

// Percentile reads the N of `p(N)`, as it stands in thresholds and in trend
// statistics; N is in [0, 100].
func Percentile(s string) (float64, bool) { return percentile(s) }

// Holds compares an aggregate with the bound.
func (e Expr) Holds(v float64) bool {
	switch e.Op {
	case ">":
		return v > e.Bound
	case ">=":
		return v >= e.Bound
	case "<":
		return v < e.Bound
	case "<=":
		return v <= e.Bound
	case "!=":
		return v != e.Bound
	default: // == and ===
		return v == e.Bound
	}
}
