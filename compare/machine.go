package compare

import (
	"encoding/json"
	"fmt"
	"strings"
)

// readMachine reads the machine-readable summary. It counts without rates, so
// these are the counts over the time of the run that it states.
func readMachine(top object) (Metrics, error) {
	if version := top.text("version"); !strings.HasPrefix(version, "1.") {
		return nil, fmt.Errorf("version %s of the machine-readable summary: only 1 is read", excerpt(top.get("version")))
	}
	type metric struct {
		Name, Type, Contains string
		Values               object
	}
	var results struct {
		Metrics []metric
		Checks  struct{ Metrics []metric }
	}
	if err := json.Unmarshal(top.get("results"), &results); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	var config struct{ Duration float64 } // in seconds
	if raw := top.get("config"); raw != nil {
		if err := json.Unmarshal(raw, &config); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
	}
	metrics := Metrics{}
	for _, m := range append(results.Metrics, results.Checks.Metrics...) {
		if _, twice := metrics[m.Name]; twice {
			return nil, fmt.Errorf("metric %s is there twice", quoted(m.Name))
		}
		values, err := m.Values.numbers()
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", quoted(m.Name), err)
		}
		out := Metric{Type: metricType(m.Type), Contains: m.Contains, Values: map[string]float64{}}
		switch out.Type {
		case 0:
			return nil, fmt.Errorf("metric %s: its type %s is none of counter, gauge, rate, trend", quoted(m.Name), quoted(m.Type))
		case Rate:
			out.rate(values)
		default:
			for key, v := range values {
				if n, ok := strings.CutPrefix(key, "p"); ok && n != "" {
					key = "p(" + n + ")"
				}
				out.Values[key] = v
			}
		}
		if count, ok := values["count"]; ok && out.Type == Counter && config.Duration > 0 {
			out.Values["rate"] = count / config.Duration
		}
		metrics[m.Name] = out
	}
	if checks, ok := metrics["checks_succeeded"]; ok && checks.Type == Rate {
		metrics["checks"] = checks // as every other shape names them
	}
	return metrics, metrics.settle()
}

// rate sets the values of a rate out of matches, total and rate.
func (m *Metric) rate(values map[string]float64) {
	matches, ok := values["matches"]
	if total, both := values["total"]; ok && both {
		m.Values["passes"], m.Values["fails"] = matches, total-matches
	}
	if v, ok := values["rate"]; ok {
		m.Values["value"] = v
	}
}
