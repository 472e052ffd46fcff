package compare

import (
	"fmt"
	"strings"
)

// counts says whether the caller's and the server's counts of calls agree.
func (n *noter) counts() {
	var both int
	var differ, parts, without []string
	var rows []int
	n.each(func(i int, label string, run Run) {
		d, ok := run.countDifference()
		if !ok {
			if _, counted := run.requests(); counted {
				without = append(without, label)
			}
			return
		}
		both++
		if d != 0 {
			differ, rows = append(differ, label), append(rows, i)
			parts = append(parts, fmt.Sprintf("%s (%s)", label, signed(d)))
		}
	})
	missing := ""
	if len(without) > 0 {
		missing = " No count of the server's in " + runsWord(without) + "."
	}
	switch {
	case both == 0 && len(without) > 0:
		n.add("counts", without, nil, nil, "The server's counts are missing in %s: the caller's stand alone.", scope(without, n.total()))
	case both == 0:
	case len(differ) == 0:
		n.add("counts", nil, nil, nil, "The caller's and the server's counts of calls agree in %s.%s", allOf(both), missing)
	default:
		n.add("counts", differ, rows, []string{"retry_amplification_factor", "downstream_calls", "downstream_received", "count_difference"},
			"The caller's and the server's counts of calls agree in %d of %s; calls received − sent: %s.%s",
			both-len(differ), plural(both, "run"), list(parts), missing)
	}
}

// tiers tells what the services in front of a server made of their requests.
func (n *noter) tiers() {
	var labels, parts []string
	n.each(func(_ int, label string, run Run) {
		if len(run.Tiers) == 0 || run.Tiers[0].Received == 0 {
			return
		}
		var by []string
		for _, t := range run.Tiers {
			calls, ok := ratio(t.Calls, true, t.Received, true)
			if !ok {
				calls = 0 // nothing came so far
			}
			by = append(by, fmt.Sprintf("%s %.3f", t.Policy, calls))
		}
		first, last := run.Tiers[0], run.Tiers[len(run.Tiers)-1]
		labels = append(labels, label)
		parts = append(parts, fmt.Sprintf("%s: %s requests became %s calls, %.3f each (%s)",
			label, decimal(first.Received), decimal(last.Calls), last.Calls/first.Received, strings.Join(by, " × ")))
	})
	if len(labels) > 0 {
		n.add("tiers", labels, nil, nil, "Tiers stood between the caller and the server, and called on by policies of their own: %s.", strings.Join(parts, "; "))
	}
}

// serverAboveCaller explains a server that was busier than its only caller.
func (n *noter) serverAboveCaller() {
	var labels, parts []string
	var rows []int
	bulkhead := false
	n.each(func(i int, label string, run Run) {
		server, okS := run.maxServer()
		caller, okC := run.maxCaller()
		if !okS || !okC || server <= caller {
			return
		}
		labels, rows = append(labels, label), append(rows, i)
		part := fmt.Sprintf("%s: %s in the server, %s at the caller", label, decimal(server), decimal(caller))
		if overdue, ok := run.overdue(); ok {
			part += fmt.Sprintf(", %s overdue", decimal(overdue))
		}
		if abandoned, ok := run.abandoned(); ok {
			part += fmt.Sprintf(", %s abandoned in all", decimal(abandoned))
		}
		parts = append(parts, part)
		for _, guard := range run.Policy.Guards {
			bulkhead = bulkhead || guard == "bulkhead"
		}
	})
	if len(labels) == 0 {
		return
	}
	why := ""
	if bulkhead {
		why = " A bulkhead bounds what its caller waits for, and not what the server still works on."
	}
	n.add("server-above-caller", labels, rows, []string{"max_inflight_downstream"},
		"The server held more calls at once than the caller had in flight: a call can outlive a caller that gave up (%s).%s",
		strings.Join(parts, "; "), why)
}
