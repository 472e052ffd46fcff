package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/thresholds"
)

// The readers of option values. A value is text where it comes from the
// environment, and what encoding/json makes of it where from a script.

func integer[T int | int64](to **T, v any) error {
	var n int64
	switch v := v.(type) {
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return fmt.Errorf("%v is not a whole number", v)
		}
		n = int64(v)
	case string:
		var err error
		if n, err = strconv.ParseInt(strings.TrimSpace(v), 10, 64); err != nil {
			return fmt.Errorf("%q is not a whole number", v)
		}
	default:
		return fmt.Errorf("%s is not a whole number", show(v))
	}
	if int64(T(n)) != n {
		return fmt.Errorf("%d is too large", n)
	}
	t := T(n)
	*to = &t
	return nil
}

func boolean(to **bool, v any) error {
	switch v := v.(type) {
	case bool:
		*to = &v
		return nil
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			*to = &b
			return nil
		}
	}
	return fmt.Errorf("%s is neither true nor false", show(v))
}

func text(to **string, v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("%s is not text", show(v))
	}
	*to = &s
	return nil
}

func duration(to **time.Duration, v any) error {
	switch v := v.(type) {
	case float64:
		d, err := milliseconds(v)
		if err != nil {
			return err
		}
		*to = &d
		return nil
	case string:
		d, err := ParseDuration(v)
		if err != nil {
			return err
		}
		*to = &d
		return nil
	}
	return fmt.Errorf("%s is no duration: want text like \"1m30s\" or a number of milliseconds", show(v))
}

func segment(to **executor.Segment, v any) error {
	t, ok := v.(string)
	if !ok {
		return fmt.Errorf("%s is no segment: want text like \"1/4:1/2\"", show(v))
	}
	s, err := executor.ParseSegment(t)
	if err != nil {
		return err
	}
	*to = &s
	return nil
}

func milliseconds(ms float64) (time.Duration, error) {
	ns := ms * float64(time.Millisecond)
	if math.IsNaN(ns) || math.Abs(ns) >= math.MaxInt64 {
		return 0, fmt.Errorf("%v milliseconds are out of range", ms)
	}
	return time.Duration(ns), nil
}

// ParseDuration reads a duration as k6 does: Go's units and also d for days,
// 24 hours each, in front of the others; a bare number is milliseconds.
func ParseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is no duration: want text like \"1d2h\", \"1m30s\" or a number of milliseconds", s)
	trimmed := strings.TrimSpace(s)
	if ms, err := strconv.ParseFloat(trimmed, 64); err == nil {
		return milliseconds(ms)
	}
	rest, days := trimmed, time.Duration(0)
	if before, after, ok := strings.Cut(trimmed, "d"); ok {
		n, err := strconv.ParseInt(before, 10, 32)
		if err != nil || n > 100_000 || n < -100_000 {
			return 0, bad
		}
		days = time.Duration(n) * 24 * time.Hour
		if rest = after; rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, bad
	}
	if days < 0 {
		d = -d
	}
	if sum := days + d; (d >= 0) == (sum >= days) {
		return sum, nil
	}
	return 0, bad
}

func texts(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		out := []string{} // not nil: an empty list was given
		for _, s := range strings.Split(v, ",") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
		return out, nil
	case []any:
		out := make([]string, len(v))
		for i, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("element %d is %s, want text", i, show(e))
			}
			out[i] = s
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s is no list of texts", show(v))
}

func pairs(v any) (map[string]string, error) {
	out := make(map[string]string)
	switch v := v.(type) {
	case string:
		for _, p := range strings.Split(v, ",") {
			key, val, ok := strings.Cut(p, ":")
			if !ok || strings.TrimSpace(key) == "" {
				return nil, fmt.Errorf("%q is not of the form key:value", p)
			}
			out[strings.TrimSpace(key)] = val
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch val := v[key].(type) {
			case string:
				out[key] = val
			case float64, bool:
				out[key] = fmt.Sprint(val)
			default:
				return nil, fmt.Errorf("the value of %q is %s, want text", key, show(val))
			}
		}
	default:
		return nil, fmt.Errorf("%s is no object of texts", show(v))
	}
	return out, nil
}

// criteria reads thresholds: `{metric: ["expr", {threshold, abortOnFail,
// delayAbortEval}]}`. The expressions are checked later, with the metrics.
func criteria(v any) (map[string][]thresholds.Spec, error) {
	if s, ok := v.(string); ok {
		v = nil
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			return nil, fmt.Errorf("%q is not JSON: %w", s, err)
		}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is no object of metrics", show(v))
	}
	out := make(map[string][]thresholds.Spec, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list, ok := m[key].([]any)
		if !ok {
			return nil, fmt.Errorf("%q: %s is no list of thresholds", key, show(m[key]))
		}
		specs := make([]thresholds.Spec, len(list))
		for i, e := range list {
			spec, err := criterion(e)
			if err != nil {
				return nil, fmt.Errorf("%q[%d]: %w", key, i, err)
			}
			specs[i] = spec
		}
		out[key] = specs
	}
	return out, nil
}

func criterion(v any) (thresholds.Spec, error) {
	if s, ok := v.(string); ok {
		return thresholds.Spec{Source: s}, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return thresholds.Spec{}, fmt.Errorf("%s is neither text nor an object", show(v))
	}
	var spec thresholds.Spec
	if spec.Source, ok = m["threshold"].(string); !ok {
		return spec, fmt.Errorf("threshold: %s is not text", show(m["threshold"]))
	}
	if a := m["abortOnFail"]; a != nil {
		if spec.AbortOnFail, ok = a.(bool); !ok {
			return spec, fmt.Errorf("abortOnFail: %s is neither true nor false", show(a))
		}
	}
	if d := m["delayAbortEval"]; d != nil {
		var delay *time.Duration
		if err := duration(&delay, d); err != nil {
			return spec, fmt.Errorf("delayAbortEval: %w", err)
		}
		spec.DelayAbortEval = *delay
	}
	return spec, nil
}

// show is a value for a message.
func show(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprintf("%v", v)
	}
	const most = 80
	text := strings.TrimSpace(b.String())
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
