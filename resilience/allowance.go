package resilience

import (
	"fmt"
	"time"

	"github.com/retrylab/retrylab/resilience/budget"
)

// validateBudget checks the budget of a retry or a hedge, which may be nil.
func validateBudget(c *budget.Config) error {
	if c == nil {
		return nil
	}
	err := c.Validate()
	if err == nil {
		return nil
	}
	var faults []error
	for _, fault := range unjoin(err) {
		faults = append(faults, fmt.Errorf("budget.%w", fault))
	}
	return flatten(faults...)
}

// allowance is a budget as one layer uses it.
type allowance struct {
	budget budget.Budget
	// counts says that this layer tells the budget of requests: the outermost
	// of those in a policy that share one.
	counts bool
}

// allowance finds the budget of a layer; nil where it has none.
func (m *maker) allowance(c *budget.Config) (*allowance, error) {
	if c == nil {
		return nil, nil
	}
	b, err := m.budgets.Get(*c)
	if err != nil {
		return nil, err
	}
	a := &allowance{budget: b, counts: !m.used[b]}
	m.used[b] = true
	return a, nil
}

func (a *allowance) begin(now time.Time) spending {
	if a.counts {
		a.budget.Begin(now)
	}
	return spending{allowance: a}
}

// spending is what one run of a layer takes out of its budget. A nil one is
// that of a layer without a budget.
type spending struct {
	*allowance
	running int         // spent-for attempts that have not ended
	last    budget.Cost // of the last one
	success bool
}

// spend asks for one more attempt after last, and tells of a refusal.
func (s *spending) spend(b *branch, last Result) bool {
	if s == nil {
		return true
	}
	cost, ok := s.budget.Spend(b.now, last.Outcome == Timeout)
	if ok {
		s.running++
		s.last = cost
		return true
	}
	b.report.BudgetExhausted = true
	if b.job.Observer != nil {
		e := b.event(BudgetExhausted)
		e.Outcome, e.Err = last.Outcome, last.Err
		b.tell(e)
	}
	return false
}

// done counts the end of the attempts that were spent for.
func (s *spending) done() {
	if s == nil {
		return
	}
	for ; s.running > 0; s.running-- {
		s.budget.Done(s.last)
	}
}

// refund takes back the last spend: the attempt is not made after all.
func (s *spending) refund(now time.Time) {
	if s == nil || s.running == 0 {
		return
	}
	s.running--
	s.budget.Refund(now, s.last)
	s.last = 0
}

// failed counts an attempt that failed in a way that is retried. Of layers in
// one policy that share a budget each counts what it sees, so that an attempt
// may count twice, but none escapes.
func (s *spending) failed() {
	if s != nil {
		s.budget.Fail()
	}
}

// end counts the end of the layer's run.
func (s *spending) end() {
	s.done()
	if s.counts {
		s.budget.End(s.success, s.last)
	}
}

func (a *allowance) describe(s *State, now time.Time) {
	if a != nil && !s.HasBudget {
		s.HasBudget, s.Budget = true, a.budget.Balance(now)
	}
}

func (a *allowance) reset() {
	if a != nil {
		a.budget.Reset()
	}
}
