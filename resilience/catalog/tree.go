package catalog

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decoder reads a tree strictly and collects every fault instead of stopping
// at the first.
type decoder struct {
	faults []string
}

func (d *decoder) fault(path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = strings.TrimPrefix(path, ".") + ": " + text
	}
	d.faults = append(d.faults, text)
}

func (d *decoder) err(source string) error {
	if len(d.faults) == 0 {
		return nil
	}
	return &InvalidError{Source: source, Faults: d.faults}
}

// object is a map whose keys are known. A nil object is an absent one: it has
// no key, so that every read of it gives the default.
type object struct {
	d      *decoder
	path   string
	values map[string]any
}

// object reads a map and refuses keys that are not among known.
func (d *decoder) object(path string, tree any, known ...string) *object {
	values, ok := tree.(map[string]any)
	if !ok {
		d.fault(path, "%s is not an object with %s", show(tree), strings.Join(known, ", "))
		return nil
	}
	o := &object{d: d, path: path, values: values}
	var unknown []string
	for key := range values {
		if !slices.Contains(known, key) {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		d.fault(o.at(key), "unknown key; known are: %s", strings.Join(known, ", "))
	}
	return o
}

// object reads a map in a map; nil where there is none.
func (o *object) object(key string, known ...string) *object {
	if !o.has(key) {
		return nil
	}
	return o.d.object(o.at(key), o.values[key], known...)
}

func (o *object) at(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

func (o *object) has(key string) bool {
	if o == nil {
		return false
	}
	_, ok := o.values[key]
	return ok
}

func (o *object) get(key string) any {
	if o == nil {
		return nil
	}
	return o.values[key]
}

func (o *object) require(key string) {
	if o != nil && !o.has(key) {
		o.d.fault(o.at(key), "is missing")
	}
}

func (o *object) list(key string) []any {
	if !o.has(key) {
		return nil
	}
	items, ok := o.values[key].([]any)
	if !ok {
		o.d.fault(o.at(key), "%s is not a list", show(o.values[key]))
	}
	return items
}

func (o *object) text(key, otherwise string) string {
	if !o.has(key) {
		return otherwise
	}
	text, ok := o.values[key].(string)
	if !ok {
		o.d.fault(o.at(key), "%s is not a text", show(o.values[key]))
	}
	return text
}

func (o *object) choice(key, otherwise string, choices ...string) string {
	if !o.has(key) {
		return otherwise
	}
	text, ok := o.values[key].(string)
	if !ok || !slices.Contains(choices, text) {
		o.d.fault(o.at(key), "%s is none of %s", show(o.values[key]), strings.Join(choices, ", "))
		return otherwise
	}
	return text
}

func (o *object) number(key string, otherwise float64) float64 {
	if !o.has(key) {
		return otherwise
	}
	f, ok := toFloat(o.values[key])
	if !ok {
		o.d.fault(o.at(key), "%s is not a number", show(o.values[key]))
	}
	return f
}

func (o *object) integer(key string, otherwise int) int {
	if !o.has(key) {
		return otherwise
	}
	f, ok := toFloat(o.values[key])
	if !ok || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		o.d.fault(o.at(key), "%s is not a whole number", show(o.values[key]))
		return otherwise
	}
	return int(f)
}

func (o *object) duration(key string, otherwise time.Duration) time.Duration {
	if !o.has(key) {
		return otherwise
	}
	return o.d.duration(o.at(key), o.values[key])
}

// duration reads a text, or a bare number of milliseconds.
func (d *decoder) duration(path string, v any) time.Duration {
	if text, ok := v.(string); ok {
		duration, err := ParseDuration(text)
		if err != nil {
			d.fault(path, "%v", err)
		}
		return duration
	}
	ms, ok := toFloat(v)
	ns := ms * float64(time.Millisecond)
	if !ok || math.Abs(ns) >= math.MaxInt64 {
		d.fault(path, "%s is no duration, such as 260ms, 1.5s or PT1S; a bare number is milliseconds", show(v))
		return 0
	}
	return time.Duration(ns)
}

// toFloat reads a number of any type that YAML, JSON or JavaScript gives.
// NaN and infinities are no numbers here.
func toFloat(v any) (float64, bool) {
	var f float64
	switch v := v.(type) {
	case int:
		f = float64(v)
	case int64:
		f = float64(v)
	case uint64:
		f = float64(v)
	case float64:
		f = v
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

// show is a value as an error quotes it.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return strconv.Quote(v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case Function:
		return "a function"
	}
	if reflect.TypeOf(v).Kind() == reflect.Func {
		return "a function"
	}
	return fmt.Sprint(v)
}
