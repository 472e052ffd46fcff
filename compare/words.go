package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// words are the scenario's parameters for people, in the order of their names.
func (s Scenario) words() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(s.Params)) {
		v, text := s.Params[key], ""
		if v == 0 && strings.HasPrefix(key, "heal_after") {
			continue // it never heals, as most do
		}
		if name, ok := strings.CutSuffix(key, "_ms"); ok {
			text = name + " " + decimal(v) + " ms"
		} else if strings.HasSuffix(key, "_rate") {
			text = key + " " + decimal(100*v) + "%"
		} else {
			text = key + " " + decimal(v)
		}
		parts = append(parts, strings.ReplaceAll(text, "_", " "))
	}
	if s.Cancellation != "" {
		parts = append(parts, "cancelled calls: "+s.Cancellation)
	}
	return strings.Join(parts, ", ")
}

// decimal is the shortest text of v to 6 decimals.
func decimal(v float64) string {
	text := strconv.FormatFloat(v, 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// setting is the line about how the runs were made.
func setting(runs []Run) string {
	var order []string
	values := map[string][]string{}
	add := func(what, value string) {
		if _, ok := values[what]; !ok {
			order = append(order, what)
		}
		if !slices.Contains(values[what], value) {
			values[what] = append(values[what], value)
		}
	}
	for _, run := range runs {
		s := run.Setup
		if s == nil {
			continue
		}
		add("plan", "plan "+s.Plan)
		add("mode", "mode "+s.Mode)
		switch seconds := decimal(s.DurationMS / 1000); {
		case s.Mode == "once":
			add("load", "1 iteration of 1 VU")
		case s.Rate > 0:
			add("load", fmt.Sprintf("%s requests/s × %s s", decimal(s.Rate), seconds))
		default:
			add("load", fmt.Sprintf("%d VUs × %s s", s.VUs, seconds))
		}
		add("seed", fmt.Sprintf("seed %d", s.Seed))
		add("runner", s.Runner)
		add("machine", s.Machine)
	}
	var parts []string
	for _, what := range order {
		switch all := values[what]; {
		case len(all) > 3:
			parts = append(parts, fmt.Sprintf("%d different %ss", len(all), what))
		default:
			parts = append(parts, strings.Join(all, " or "))
		}
	}
	return strings.Join(parts, " · ")
}

// list joins words as in "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// plural is "1 run" or "3 runs".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
