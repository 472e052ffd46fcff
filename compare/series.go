package compare

import (
	"math"
	"slices"
)

// Second is what the server counted in one second of a run.
type Second struct {
	// T is the second, from 0 at the run's start.
	T int
	// Good is how many calls it answered well. Inflight is how many it held at the
	// second's end, or the mean of those being served in it if that is greater:
	// callers in step may all be between two calls just then.
	Good, Inflight float64
	// Received is how many calls came, and Lost how many of those it held failed or
	// were given up.
	Received, Lost float64
}

// maxSeconds bounds the seconds that are believed of a run.
const maxSeconds = 86_400

// seriesOf reads the server's account by the second as run.json holds it, without
// the last second, which was not over. What is not one of its entries is skipped.
func seriesOf(value any) []Second {
	entries, _ := value.([]any)
	var out []Second
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		t, okT := fields["t"].(float64)
		good, okG := fields["finished"].(float64)
		inflight, okI := fields["inflight"].(float64)
		if okT && okG && okI && t >= 0 && t < maxSeconds && good >= 0 && inflight >= 0 && t == math.Trunc(t) {
			busy, _ := fields["busy_ms"].(float64)
			received, _ := fields["received"].(float64)
			failed, _ := fields["failed"].(float64)
			abandoned, _ := fields["abandoned"].(float64)
			out = append(out, Second{T: int(t), Good: good, Inflight: max(inflight, busy/1000), Received: received, Lost: failed + abandoned})
		}
	}
	slices.SortStableFunc(out, func(a, b Second) int { return a.T - b.T })
	return out[:max(0, len(out)-1)]
}

// Series returns what the row's server counted by the second, the median over the
// repetitions that have the second; empty if none has any.
func (r Row) Series() []Second {
	good, inflight := map[int][]float64{}, map[int][]float64{}
	for _, run := range r.Runs {
		for _, s := range run.Series {
			good[s.T], inflight[s.T] = append(good[s.T], s.Good), append(inflight[s.T], s.Inflight)
		}
	}
	out := make([]Second, 0, len(good))
	for t := range good {
		out = append(out, Second{T: t, Good: statOf(good[t]).Value, Inflight: statOf(inflight[t]).Value})
	}
	slices.SortFunc(out, func(a, b Second) int { return a.T - b.T })
	return out
}
