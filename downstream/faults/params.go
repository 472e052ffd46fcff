package faults

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Params binds the parameters of one fault to the names users write. It is filled by [Fault.Declare].
// The zero value holds none. It is not safe for concurrent use.
type Params struct {
	list   []param
	checks []check
}

// ParamInfo describes one parameter.
type ParamInfo struct {
	// Name is the key in flags, JSON and JS, in camelCase.
	Name string `json:"name"`
	// Type is "duration", "number", "integer" or "choice".
	Type string `json:"type"`
	// Default is the value used when none is given: text for a duration or a choice, a number otherwise.
	Default any `json:"default"`
	// Range is what is allowed: bounds, both included, such as "0..1", or the words of a choice, joined by "|".
	Range string `json:"range"`
	// Doc says in a few words what the parameter does.
	Doc string `json:"doc"`
}

type param struct {
	info      ParamInfo
	set       func(given any) error
	effective func() (key string, value any)
}

type check struct {
	name string
	fn   func() error
}

// Duration declares a duration and sets it to its default. It is given as text with a unit ("220ms",
// "1.5s"), as a [time.Duration], or as a number, or the text of one, of milliseconds.
func (p *Params) Duration(dst *time.Duration, name string, def, low, high time.Duration, doc string) {
	key := snake(name) + "_ms"
	declare(p, dst, ParamInfo{
		Name: name, Type: "duration", Default: DurationText(def),
		Range: DurationText(low) + ".." + DurationText(high), Doc: doc,
	}, def, low, high, parseDuration, func() (string, any) {
		return key, float64(*dst) / float64(time.Millisecond)
	})
}

// Number declares a real number and sets it to its default. It is given as a number or the text of one.
func (p *Params) Number(dst *float64, name string, def, low, high float64, doc string) {
	key := snake(name)
	declare(p, dst, ParamInfo{
		Name: name, Type: "number", Default: def,
		Range: show(low) + ".." + show(high), Doc: doc,
	}, def, low, high, parseNumber, func() (string, any) { return key, *dst })
}

// Integer declares a whole number and sets it to its default. It is given as a number without a
// fraction or the text of one.
func (p *Params) Integer(dst *int64, name string, def, low, high int64, doc string) {
	key := snake(name)
	declare(p, dst, ParamInfo{
		Name: name, Type: "integer", Default: def,
		Range: show(low) + ".." + show(high), Doc: doc,
	}, def, low, high, parseInteger, func() (string, any) { return key, *dst })
}

// Choice declares one word out of a few and sets it to its default, which must be one of them.
func (p *Params) Choice(dst *string, name, def string, words []string, doc string) {
	*dst = def
	set := func(given any) error {
		// A word may look like a number, such as 503, and come as one.
		if s := show(given); slices.Contains(words, s) {
			*dst = s
			return nil
		}
		return fmt.Errorf("%s is none of %s", quote(given), strings.Join(words, ", "))
	}
	key := snake(name)
	p.list = append(p.list, param{
		ParamInfo{Name: name, Type: "choice", Default: def, Range: strings.Join(words, "|"), Doc: doc},
		set, func() (string, any) { return key, *dst },
	})
}

// Check declares a condition on the parameters taken together. It is asked once all of them are set
// and each is good by itself; its error is reported at the parameter of that name.
func (p *Params) Check(name string, fn func() error) {
	p.checks = append(p.checks, check{name, fn})
}

func declare[T cmp.Ordered](p *Params, dst *T, info ParamInfo, def, low, high T,
	parse func(any) (T, error), effective func() (string, any),
) {
	*dst = def
	set := func(given any) error {
		v, err := parse(given)
		if err != nil {
			return err
		}
		if v < low || v > high {
			return fmt.Errorf("%s is outside %s", quote(given), info.Range)
		}
		*dst = v
		return nil
	}
	p.list = append(p.list, param{info, set, effective})
}

// Infos describes the declared parameters in the order of their declaration.
func (p *Params) Infos() []ParamInfo {
	infos := make([]ParamInfo, len(p.list))
	for i := range p.list {
		infos[i] = p.list[i].info
	}
	return infos
}

// Keys returns the keys of [Params.Effective] in the order of declaration.
func (p *Params) Keys() []string {
	keys := make([]string, len(p.list))
	for i, q := range p.list {
		keys[i], _ = q.effective()
	}
	return keys
}

// Set writes the given values into the fault that declared the parameters. A parameter that is absent
// or nil keeps its default. A parameter may also be given under its key in [Params.Effective], so that
// what was written out can be read back. The error joins one line for every fault found, each beginning with path, a
// dot and the parameter's name; parameters that were good are set all the same.
func (p *Params) Set(path string, given map[string]any) error {
	var errs []error
	fail := func(name string, err error) {
		errs = append(errs, fmt.Errorf("%s.%s: %w", path, name, err))
	}
	known := make([]string, len(p.list))
	keys := p.Keys()
	for i, q := range p.list {
		known[i] = q.info.Name
		v := given[known[i]]
		if keys[i] != known[i] && given[keys[i]] != nil {
			if v != nil {
				fail(known[i], fmt.Errorf("given twice, as %s and as %s", known[i], keys[i]))
				continue
			}
			v = given[keys[i]]
		}
		if v != nil {
			if err := q.set(v); err != nil {
				fail(q.info.Name, err)
			}
		}
	}
	var unknown []string
	for name := range given {
		if !slices.Contains(known, name) && !slices.Contains(keys, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		fail(plain(name), fmt.Errorf("unknown parameter; known are %s", strings.Join(known, ", ")))
	}
	if errs == nil {
		for _, c := range p.checks {
			if err := c.fn(); err != nil {
				fail(c.name, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Effective returns the current values, defaults included, by snake_case key; durations are numbers of
// milliseconds under a key that ends in _ms. The map is the caller's.
func (p *Params) Effective() map[string]any {
	m := make(map[string]any, len(p.list))
	for _, q := range p.list {
		k, v := q.effective()
		m[k] = v
	}
	return m
}

// Changed returns, as NAME=VALUE in the order of declaration, the parameters whose value is not their
// default.
func (p *Params) Changed() []string {
	var changed []string
	for _, q := range p.list {
		_, v := q.effective()
		if q.info.Type == "duration" {
			v = DurationText(time.Duration(math.Round(v.(float64) * float64(time.Millisecond))))
		}
		if v != q.info.Default {
			changed = append(changed, q.info.Name+"="+show(v))
		}
	}
	return changed
}

func parseDuration(given any) (time.Duration, error) {
	if d, ok := given.(time.Duration); ok {
		return d, nil
	}
	if s, ok := given.(string); ok {
		if d, err := time.ParseDuration(s); err == nil {
			return d, nil
		}
	}
	ms, ok := number(given)
	if !ok {
		return 0, fmt.Errorf(`%s is not a duration: want text such as "220ms" or "1.5s", or a number of milliseconds`,
			quote(given))
	}
	// Saturated, so that what no duration can hold is reported as out of range.
	ns := math.Round(ms * float64(time.Millisecond))
	switch {
	case ns >= math.MaxInt64:
		return math.MaxInt64, nil
	case ns <= math.MinInt64:
		return math.MinInt64, nil
	}
	return time.Duration(ns), nil
}

func parseNumber(given any) (float64, error) {
	f, ok := number(given)
	if !ok {
		return 0, fmt.Errorf("%s is not a number", quote(given))
	}
	return f, nil
}

func parseInteger(given any) (int64, error) {
	f, ok := number(given)
	if !ok || f != math.Trunc(f) {
		return 0, fmt.Errorf("%s is not a whole number", quote(given))
	}
	switch {
	case f >= math.MaxInt64:
		return math.MaxInt64, nil
	case f <= math.MinInt64:
		return math.MinInt64, nil
	}
	return int64(f), nil
}

// number reads whatever flags, JSON, YAML and JS hand over as a number. NaN and the infinities are none.
func number(given any) (float64, bool) {
	var f float64
	switch v := given.(type) {
	case string:
		return parseFloat(v)
	case json.Number:
		return parseFloat(string(v))
	case time.Duration:
		return 0, false
	default:
		switch r := reflect.ValueOf(given); {
		case r.CanInt():
			f = float64(r.Int())
		case r.CanUint():
			f = float64(r.Uint())
		case r.CanFloat():
			f = r.Float()
		default:
			return 0, false
		}
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

func parseFloat(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// quote shows an offending value: quoted, on one line and of bounded length.
func quote(v any) string {
	const most = 60
	s := []rune(show(v))
	if len(s) > most {
		s = append(s[:most], '…')
	}
	return strconv.Quote(string(s))
}

// plain returns a name as it is when it could be a parameter's, and quoted otherwise.
func plain(name string) string {
	odd := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }
	if name == "" || len(name) > 40 || strings.ContainsFunc(name, odd) {
		return quote(name)
	}
	return name
}

func show(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Duration:
		return DurationText(v)
	}
	return fmt.Sprint(v)
}

// DurationText is d.String() without the zero parts at its end: "1h", not "1h0m0s".
func DurationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// snake turns a camelCase name into snake_case.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}
