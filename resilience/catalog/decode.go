package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/retrylab/retrylab/resilience/bulkhead"
)

// decodeGuard reads the body of a guard.
type decodeGuard func(d *decoder, path string, body any) resilience.Guard

// guardKinds are the guards by their keys in a policy, in the order in which
// errors name them.
func guardKinds() ([]string, map[string]decodeGuard) {
	return []string{"retry", "timeout", "breaker", "bulkhead"}, map[string]decodeGuard{
		"retry":    (*decoder).retry,
		"timeout":  (*decoder).timeout,
		"breaker":  (*decoder).breaker,
		"bulkhead": (*decoder).bulkhead,
	}
}

func (d *decoder) policy(path string, tree any) resilience.Config {
	o := d.object(path, tree, "name", "scope", "guards")
	if o == nil {
		return resilience.Config{}
	}
	c := resilience.Config{Name: o.text("name", "")}
	o.require("name")
	if o.get("name") == "" {
		d.fault(o.at("name"), "is empty")
	}
	if o.choice("scope", "instance", "instance", "vu") == "vu" {
		c.Scope = resilience.VU
	}
	for i, item := range o.list("guards") {
		if g := d.guard(fmt.Sprintf("%s[%d]", o.at("guards"), i), item); g != nil {
			c.Guards = append(c.Guards, g)
		}
	}
	return c
}

func (d *decoder) guard(path string, tree any) resilience.Guard {
	kinds, decoders := guardKinds()
	o, ok := tree.(map[string]any)
	if !ok || len(o) != 1 {
		d.fault(path, "is not one guard, such as {timeout: 260ms}; guards are: %s", strings.Join(kinds, ", "))
		return nil
	}
	for kind, body := range o {
		decode, ok := decoders[kind]
		if !ok {
			d.fault(path+"."+kind, "is no guard; guards are: %s", strings.Join(kinds, ", "))
			return nil
		}
		before := len(d.faults)
		g := decode(d, path+"."+kind, body)
		if len(d.faults) == before { // else the values are not what was written
			if err := g.Validate(); err != nil {
				for _, fault := range faultsOf(err) {
					d.faults = append(d.faults, path+"."+kind+"."+fault)
				}
			}
		}
		return g
	}
	return nil
}

func (d *decoder) timeout(path string, body any) resilience.Guard {
	return resilience.TimeoutGuard{Limit: d.duration(path, body)}
}

func (d *decoder) bulkhead(path string, body any) resilience.Guard {
	o := d.object(path, body, "maxConcurrent")
	o.require("maxConcurrent")
	return resilience.BulkheadGuard{Config: bulkhead.Config{MaxConcurrent: o.integer("maxConcurrent", 1)}}
}

func (d *decoder) retry(path string, body any) resilience.Guard {
	o := d.object(path, body, "maxAttempts", "backoff", "jitter", "retryOn", "retryAfter")
	g := resilience.RetryGuard{
		MaxAttempts:   o.integer("maxAttempts", resilience.DefaultMaxAttempts),
		RetryOn:       o.outcomes("retryOn", resilience.DefaultRetryOn()),
		MaxRetryAfter: resilience.DefaultMaxRetryAfter,
	}
	b := o.object("backoff", "initial", "multiplier", "max")
	g.Backoff = backoff.Schedule{
		Initial:    b.duration("initial", 0),
		Multiplier: b.number("multiplier", resilience.DefaultMultiplier),
		Max:        b.duration("max", resilience.DefaultMaxWait),
	}
	g.Backoff.Jitter, g.Backoff.Fraction = o.jitter("jitter")
	switch value := o.get("retryAfter").(type) {
	case nil:
	case map[string]any:
		g.MaxRetryAfter = o.object("retryAfter", "max").duration("max", resilience.DefaultMaxRetryAfter)
	default:
		_ = value
		g.IgnoreRetryAfter = o.choice("retryAfter", "respect", "respect", "ignore") == "ignore"
	}
	return g
}

// jitter reads a kind by its name, or {factor: f} or {add: f}.
func (o *object) jitter(key string) (backoff.Jitter, float64) {
	named := []backoff.Jitter{backoff.None, backoff.Full, backoff.Equal, backoff.Decorrelated}
	var names []string
	for _, j := range named {
		names = append(names, j.String())
	}
	switch value := o.get(key).(type) {
	case nil:
		return backoff.None, 0
	case string:
		if i := slices.Index(names, value); i >= 0 {
			return named[i], 0
		}
	case map[string]any:
		if len(value) == 1 {
			body := o.object(key, "factor", "add")
			if body.has("add") {
				return backoff.Add, body.number("add", 0)
			}
			return backoff.Factor, body.number("factor", 0)
		}
	}
	o.d.fault(o.at(key), "%s is none of %s, {factor: f}, {add: f}", show(o.get(key)), strings.Join(names, ", "))
	return backoff.None, 0
}

func (d *decoder) breaker(path string, body any) resilience.Guard {
	o := d.object(path, body, "window", "failureRate", "minCalls", "slowCall", "openFor", "halfOpen", "counts")
	g := resilience.BreakerGuard{Counts: o.outcomes("counts", resilience.DefaultCounts())}
	c := &g.Config
	w := o.object("window", "calls", "time", "consecutive")
	c.Window = breaker.Window{
		Calls: w.integer("calls", 0), Time: w.duration("time", 0), Consecutive: w.integer("consecutive", 0),
	}
	if !o.has("window") {
		c.Window.Calls = resilience.DefaultWindowCalls
	}
	if c.Window.Consecutive == 0 {
		c.FailureRate = o.number("failureRate", resilience.DefaultFailureRate)
		c.MinCalls = o.integer("minCalls", defaultMinCalls(c.Window))
	} else {
		for _, key := range []string{"failureRate", "minCalls"} {
			if o.has(key) {
				d.fault(o.at(key), "has no meaning beside window.consecutive")
			}
		}
	}
	s := o.object("slowCall", "over", "rate")
	if o.has("slowCall") {
		s.require("over")
		c.SlowCall = breaker.SlowCall{Over: s.duration("over", 0), Rate: s.number("rate", resilience.DefaultFailureRate)}
	}
	if _, nested := o.get("openFor").(map[string]any); nested {
		f := o.object("openFor", "initial", "multiplier", "max")
		c.OpenFor = breaker.OpenFor{
			Initial:    f.duration("initial", resilience.DefaultOpenFor),
			Multiplier: f.number("multiplier", 1),
			Max:        f.duration("max", 0),
		}
	} else {
		c.OpenFor = breaker.OpenFor{Initial: o.duration("openFor", resilience.DefaultOpenFor)}
	}
	h := o.object("halfOpen", "calls", "maxWait")
	c.HalfOpen = breaker.Probes{
		Calls: h.integer("calls", resilience.DefaultHalfOpenCalls), MaxWait: h.duration("maxWait", 0),
	}
	return g
}

// defaultMinCalls is what a window must hold at least: ten results, or all
// that it can hold.
func defaultMinCalls(w breaker.Window) int {
	const atLeast = 10
	if w.Calls > 0 {
		return min(w.Calls, atLeast)
	}
	return atLeast
}

func (o *object) outcomes(key string, otherwise resilience.Outcomes) resilience.Outcomes {
	if !o.has(key) {
		return otherwise
	}
	var set resilience.Outcomes
	for i, item := range o.list(key) {
		name, ok := scalarText(item)
		outcome, err := resilience.ParseOutcome(name)
		if !ok || err != nil {
			o.d.fault(fmt.Sprintf("%s[%d]", o.at(key), i), "%s is none of %s", show(item), strings.Join(resilience.OutcomeNames(), ", "))
			continue
		}
		set |= resilience.SetOf(outcome)
	}
	return set
}

// scalarText is a text, or a number that YAML took it for (429).
func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int, int64, uint64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// ParseDuration reads a duration as policies have it: Go's form (260ms, 1.5s,
// 2m), or ISO 8601's for hours, minutes and seconds (PT1S, PT0.5S, PT1M30S).
func ParseDuration(text string) (time.Duration, error) {
	t := strings.TrimSpace(text)
	if upper := strings.ToUpper(t); strings.HasPrefix(upper, "PT") && len(t) > 2 {
		t = strings.ToLower(upper[2:])
		if strings.ContainsAny(t, "µnu+-") || strings.Contains(t, "ms") {
			t = ""
		}
	}
	duration, err := time.ParseDuration(t)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration, such as 260ms, 1.5s or PT1S", text)
	}
	return duration, nil
}
