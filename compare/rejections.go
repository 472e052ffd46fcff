package compare

// Rejection is how many attempts a guard refused for each request of a row.
type Rejection struct {
	// Guard is the guard in words.
	Guard string
	// PerRequest is the median over the repetitions.
	PerRequest float64
}

// Rejections returns the row's refused attempts by guard, always in the same
// order, those of none included; nil if they are not known.
func (r Row) Rejections() []Rejection {
	var out []Rejection
	for _, guard := range []struct{ name, metric string }{
		{"breaker", "resilience_rejected_breaker"}, {"bulkhead", "resilience_rejected_bulkhead"},
		{"rate limit", "resilience_rejected_rate_limit"}, {"throttle", "resilience_rejected_throttle"},
		{"budget", "resilience_rejected_budget"},
	} {
		s := r.stat(func(run Run) (float64, bool) {
			refused, okR := run.Metrics.ours(guard.metric)
			n, okN := run.requests()
			return ratio(refused, okR, n, okN)
		})
		if !s.Known() {
			return nil
		}
		out = append(out, Rejection{Guard: guard.name, PerRequest: s.Value})
	}
	return out
}
