package compare

import "slices"

// baseline compares every row with the one of the baseline policy in the same
// lab and scenario. A row without one, and the baseline itself, have no figures of
// it.
func baseline(rows []Row, policy string) {
	if policy == "" {
		return
	}
	for i := range rows {
		row := &rows[i]
		for _, base := range rows {
			if base.isPolicy(policy) && !row.isPolicy(policy) && base.Lab == row.Lab &&
				base.Scenario == row.Scenario && base.Conditions == row.Conditions {
				row.compare(base)
				break
			}
		}
	}
}

// HasPolicy says whether any of the runs is of the policy, so that it can be a
// baseline.
func HasPolicy(runs []Run, policy string) bool {
	return slices.ContainsFunc(runs, func(run Run) bool { return Row{Policy: run.Policy.Name, Runs: []Run{run}}.isPolicy(policy) })
}

func (r Row) isPolicy(name string) bool { return r.Policy == name || r.PolicyLabel() == name }

// compare fills the figures of the columns of baselineColumns.
func (r *Row) compare(base Row) {
	success := newChange(base.stats["success_rate"], r.stats["success_rate"], DefaultAlpha)
	calls := newChange(base.stats["retry_amplification_factor"], r.stats["retry_amplification_factor"], DefaultAlpha)
	if !success.Known() || !calls.Known() {
		return
	}
	r.changes = map[string]Change{"extra_success": success, "extra_calls": calls}
	one := func(v float64) Stat { return statOf([]float64{v}) }
	r.stats["extra_success"], r.stats["extra_calls"] = one(success.Delta()), one(calls.Delta())
	if per, ok := ratio(success.Delta(), success.shown(), calls.Delta(), calls.shown()); ok && calls.Delta() > 0 {
		r.stats["extra_success_per_extra_call"] = one(per)
	}
}

// known says whether both sides have the figure.

// shown says whether the difference may be shown: it is significant, or there are
// too few repetitions to tell, which a note says.
func (c Change) shown() bool { return c.Significant || c.TooFew }
