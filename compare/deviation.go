package compare

import (
	"fmt"
	"math"
	"strings"

	"github.com/retrylab/retrylab/theory"
)

const (
	// z99 is the normal quantile of a two-sided 99% interval.
	z99 = 2.5758293035489004
	// leastDeviation is what a deviation must exceed to be worth a mark,
	// whatever the number of requests: half a percentage point, or half a call
	// per 100 requests.
	leastDeviation = .005
)

// tolerance is how far a mean over requests may lie from its expectation: the
// 99% interval of the normal approximation with the variance that the model
// itself gives (for shares this is Wilson's score test) and with the correction
// for counts being whole, and no less than leastDeviation.
func tolerance(stdDev, requests float64) float64 {
	return max(leastDeviation, z99*stdDev/math.Sqrt(requests)+1/(2*requests))
}

// deviations marks figures that the model of independent failures does not
// explain, with the requests of all repetitions taken together.
func (n *noter) deviations() {
	var labels, parts []string
	var success, amplification []int
	for i, row := range n.rows {
		e := row.Runs[0].expect()
		p, ok := e.Failure.Value()
		if !ok {
			continue
		}
		var requests, successes, calls float64
		complete := true
		for _, run := range row.Runs {
			r, okR := run.requests()
			s, okS := run.successes()
			c, okC := run.sent()
			complete = complete && okR && okS && okC && alike(row.Runs[0], run)
			requests, successes, calls = requests+r, successes+s, calls+c
		}
		if !complete || requests == 0 {
			continue
		}
		label := row.short()
		before := len(parts)
		want, _ := e.Success.Value()
		tol := tolerance(math.Sqrt(want*(1-want)), requests)
		if got := successes / requests; math.Abs(got-want) > tol {
			success = append(success, i)
			parts = append(parts, fmt.Sprintf("%s success %.1f%%, expected %.1f ± %.1f%%", label, 100*got, 100*want, 100*tol))
		}
		want, _ = e.Amplification.Value()
		tol = tolerance(theory.CallsStdDev(p, e.Attempts), requests)
		if got := calls / requests; math.Abs(got-want) > tol {
			amplification = append(amplification, i)
			parts = append(parts, fmt.Sprintf("%s amplification %.3f, expected %.3f ± %.3f", label, got, want, tol))
		}
		if len(parts) > before {
			labels = append(labels, label)
		}
	}
	if len(labels) == 0 {
		return
	}
	n.add("deviation", labels, success, []string{"success_rate"},
		"Outside of the 99%% interval around the expected value: %s. Of a hundred rows that follow the model one is marked by chance.", strings.Join(parts, "; "))
	n.mark(amplification, []string{"retry_amplification_factor", "amplification_deviation"})
}
