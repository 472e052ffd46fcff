package compare

import (
	"encoding/json"
	"fmt"
	"strings"
)

// readMetrics reads the "metrics" of the flat --summary-export and of the
// handleSummary object, and says which of the two it is.
func readMetrics(data json.RawMessage) (Metrics, Shape, error) {
	var all object
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, "", fmt.Errorf("metrics: %w", err)
	}
	metrics, shape := make(Metrics, len(all)), Export
	for i, m := range all {
		var fields object
		if err := json.Unmarshal(m.value, &fields); err != nil {
			return nil, "", fmt.Errorf("metric %s: %w", quoted(m.name), err)
		}
		of := Export
		if fields.get("values") != nil {
			of = HandleSummary
		}
		if i == 0 {
			shape = of
		} else if of != shape {
			return nil, "", fmt.Errorf("metric %s has the shape of %s, those before it that of %s", quoted(m.name), of, shape)
		}
		read := flat
		if of == HandleSummary {
			read = nested
		}
		metric, err := read(fields)
		if err != nil {
			return nil, "", fmt.Errorf("metric %s: %w", quoted(m.name), err)
		}
		metrics[m.name] = metric
	}
	return metrics, shape, metrics.settle()
}

// flat is a metric of --summary-export.
func flat(fields object) (Metric, error) {
	values, err := fields.numbers("thresholds")
	if err != nil {
		return Metric{}, err
	}
	metric := Metric{Type: typeOf(values), Values: values}
	return metric, metric.verdicts(fields.get("thresholds"), func(raw json.RawMessage) (bool, error) {
		var failed bool
		err := json.Unmarshal(raw, &failed)
		return !failed, err
	})
}

// nested is a metric of the handleSummary object.
func nested(fields object) (Metric, error) {
	metric := Metric{Type: metricType(fields.text("type")), Contains: fields.text("contains")}
	if metric.Type == 0 {
		return Metric{}, fmt.Errorf("its type %s is none of counter, gauge, rate, trend", excerpt(fields.get("type")))
	}
	var values object
	err := json.Unmarshal(fields.get("values"), &values)
	if err == nil {
		metric.Values, err = values.numbers()
	}
	if err != nil {
		return Metric{}, err
	}
	if rate, ok := metric.Values["rate"]; ok && metric.Type == Rate {
		delete(metric.Values, "rate")
		metric.Values["value"] = rate
	}
	return metric, metric.verdicts(fields.get("thresholds"), func(raw json.RawMessage) (bool, error) {
		var verdict struct {
			OK *bool `json:"ok"`
		}
		err := json.Unmarshal(raw, &verdict)
		if err == nil && verdict.OK == nil {
			err = fmt.Errorf(`no "ok" in %s`, excerpt(raw))
		}
		return err == nil && *verdict.OK, err
	})
}

// verdicts reads the thresholds of a metric, if it has any.
func (m *Metric) verdicts(data json.RawMessage, held func(json.RawMessage) (bool, error)) error {
	if data == nil {
		return nil
	}
	var all object
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("thresholds: %w", err)
	}
	for _, t := range all {
		ok, err := held(t.value)
		if err != nil {
			return fmt.Errorf("threshold %s: %w", quoted(t.name), err)
		}
		if m.Thresholds == nil {
			m.Thresholds = map[string]bool{}
		}
		m.Thresholds[t.name] = ok
	}
	return nil
}

// typeOf tells the type by the keys. The statistics of a trend are the user's
// choice (summaryTrendStats), count among them, so a trend is what has any that
// no other type has.
func typeOf(values map[string]float64) MetricType {
	has := func(key string) bool { _, ok := values[key]; return ok }
	for key := range values {
		if key == "avg" || key == "med" || strings.HasPrefix(key, "p(") {
			return Trend
		}
	}
	switch {
	case has("passes") && has("fails"):
		return Rate
	case has("value"):
		return Gauge
	case has("count") && has("rate"):
		return Counter
	case has("min") || has("max") || has("count"):
		return Trend
	}
	return 0
}
