package compare

import (
	"fmt"
	"slices"
	"strings"
)

// Options are what a reader asks of a report beyond the runs. The zero Options
// ask for nothing.
type Options struct {
	// Gates are put to the rows; their answers are the report's Checks.
	Gates []Gate
	// LeastRepetitions is how many repetitions a row needs for a gate to be
	// decided; below 2 any row is enough.
	LeastRepetitions int
	// Filters keep the rows that any of them selects; none keep all.
	Filters []Filter
	// Baseline names the policy that others are compared with; empty for none.
	Baseline string
	// Sort orders the rows within their groups; the zero Order is that of their
	// numbers.
	Sort Order
	// GroupBy says what the rows of a table have in common: scenario (the default
	// if empty), policy, lab or none.
	GroupBy string
	// Plan returns the names of a plan's runs by their numbers, as the plan is
	// now, and nil for one that is not known. With it a lab that is older than its
	// plan is told. May be nil.
	Plan func(name string) map[int]string
}

// Order is an order of rows by a figure or by their names. The zero Order is that
// of their numbers.
type Order struct {
	column     Column
	descending bool
}

// ParseOrder reads the name of a column, such as amplification or policy, with a
// "-" in front for descending order.
func ParseOrder(text string) (Order, error) {
	name, descending := strings.CutPrefix(strings.TrimSpace(text), "-")
	if c, err := judged(name); err == nil {
		return Order{c, descending}, nil
	}
	for _, c := range slices.Concat(tables(), baselineColumns(), Columns()) {
		if c.Name == name {
			return Order{c, descending}, nil
		}
	}
	return Order{}, fmt.Errorf("cannot sort by %q, known are: policy, scenario, %s", text, strings.Join(MetricNames(), ", "))
}

// sort orders the rows. Those without the figure come last.
func (o Order) sort(rows []Row) {
	if o.column.Name == "" {
		return
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		if o.column.text != nil {
			return o.turned(strings.Compare(o.column.text(a), o.column.text(b)))
		}
		s, t := a.Stat(o.column), b.Stat(o.column)
		switch {
		case s.Known() && !t.Known():
			return -1
		case !s.Known() && t.Known():
			return 1
		case s.Value < t.Value:
			return o.turned(-1)
		case s.Value > t.Value:
			return o.turned(1)
		}
		return 0
	})
}

func (o Order) turned(c int) int {
	if o.descending {
		return -c
	}
	return c
}

// groupings are the values of Options.GroupBy, and which column names a row then.
func groupings() map[string]string {
	return map[string]string{"scenario": "policy", "policy": "scenario", "lab": "policy_scenario", "none": "policy_scenario"}
}

// Validate returns what is wrong with GroupBy, if anything.
func (o Options) Validate() error {
	if _, ok := groupings()[o.GroupBy]; !ok && o.GroupBy != "" {
		return fmt.Errorf("cannot group by %q, known are: scenario, policy, lab, none", o.GroupBy)
	}
	return nil
}
