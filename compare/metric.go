package compare

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// figure is a number that can be had of a run, by the name that asks for it.
type figure struct {
	name   string
	kind   Kind
	number func(Run) (float64, bool)
}

// short are short names of columns.
func short() map[string]string {
	return map[string]string{
		"amplification": "retry_amplification_factor", "requests": "total_requests", "goodput": "successful_requests_per_second",
		"retries": "retry_attempts", "timeouts": "timeout_count", "calls": "downstream_calls", "received": "downstream_received",
		"max_inflight": "max_inflight_downstream", "p95": "successful_request_p95_ms", "p99": "successful_request_p99_ms",
	}
}

// figures are the columns of figures by name.
func figures() map[string]Column {
	out := map[string]Column{}
	for _, c := range slices.Concat(Columns(), tables()) {
		if c.number != nil {
			out[c.Name] = c
		}
	}
	return out
}

// MetricNames lists the names that gates, filters, floors and the order of rows know,
// beside those of k6's own metrics.
func MetricNames() []string {
	return slices.Sorted(maps.Keys(merged(figures(), short())))
}

func merged(columns map[string]Column, names map[string]string) map[string]Column {
	for name, of := range names {
		columns[name] = columns[of]
	}
	return columns
}

// parseFigure reads one metric, or the quotient of two.
func parseFigure(text string) (figure, error) {
	parts := outsideBraces(text, '/')
	if len(parts) > 2 {
		return figure{}, fmt.Errorf("%q divides more than once: wanted METRIC or METRIC/METRIC", strings.TrimSpace(text))
	}
	first, err := parseMetric(parts[0])
	if len(parts) == 1 {
		return first, err
	}
	second, err2 := parseMetric(parts[1])
	if err := errors.Join(err, err2); err != nil {
		return figure{}, err
	}
	return figure{name: first.name + "/" + second.name, kind: Factor, number: func(r Run) (float64, bool) {
		a, okA := first.number(r)
		b, okB := second.number(r)
		return ratio(a, okA, b, okB)
	}}, nil
}

// parseMetric reads the name of a column, or NAME:STAT of a metric of k6's own.
func parseMetric(text string) (figure, error) {
	text = strings.TrimSpace(text)
	columns := merged(figures(), short())
	if c, ok := columns[text]; ok {
		return figure{text, c.Kind, c.number}, nil
	}
	if parts := outsideBraces(text, ':'); len(parts) == 2 && parts[0] != "" && parts[1] != "" {
		name, stat := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
		return figure{text, Plain, func(r Run) (float64, bool) { return r.Metrics.stat(name, stat) }}, nil
	}
	if text == "" {
		return figure{}, errors.New("there is no metric to compare")
	}
	return figure{}, unknown(text)
}

// unknown is the error of a metric that is none.
func unknown(name string) error {
	best, least := "", 4 // a typing error is nearer
	for _, known := range MetricNames() {
		if d := distance(name, known); d < least && d < len(known)/2 {
			best, least = known, d
		}
	}
	if best != "" {
		return fmt.Errorf("unknown metric %q, did you mean %q?", name, best)
	}
	return fmt.Errorf("unknown metric %q, known are: %s; and NAME:STAT of k6's own, such as http_req_duration:p(95)",
		name, strings.Join(MetricNames(), ", "))
}

// distance is how many bytes must be added, removed or replaced to turn one text
// into the other (Levenshtein), in Wagner and Fischer's way.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// stat is a value of a k6 metric by its name in thresholds.
func (m Metrics) stat(name, stat string) (float64, bool) {
	metric := m[name]
	if metric.Type == Rate && stat == "rate" {
		if v, ok := metric.Values["value"]; ok {
			return v, true
		}
		p, okP := metric.Values["passes"]
		f, okF := metric.Values["fails"]
		return ratio(p, okP, p+f, okF)
	}
	v, ok := metric.Values[stat]
	return v, ok
}

// outsideBraces splits the text at a sign where it is in no braces, which hold
// the tags of k6's sub-metrics.
func outsideBraces(text string, sign byte) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(text) {
		switch {
		case text[i] == '{':
			depth++
		case text[i] == '}':
			depth--
		case text[i] == sign && depth <= 0:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

// judged returns the column of a name that has figures.
func judged(name string) (Column, error) {
	if c, ok := merged(figures(), short())[name]; ok {
		return c, nil
	}
	return Column{}, unknown(name)
}
