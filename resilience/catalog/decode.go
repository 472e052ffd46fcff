package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/retrylab/retrylab/resilience/budget"
	"github.com/retrylab/retrylab/resilience/bulkhead"
	"github.com/retrylab/retrylab/resilience/hedge"
	"github.com/retrylab/retrylab/resilience/httpcall"
	"github.com/retrylab/retrylab/resilience/ratelimit"
	"github.com/retrylab/retrylab/resilience/throttle"
)

// decodeGuard reads the body of a guard.
type decodeGuard func(d *decoder, path string, body any) resilience.Guard

// guardKinds are the guards by their keys in a policy, in the order in which
// errors name them.
func guardKinds() ([]string, map[string]decodeGuard) {
	return []string{"fallback", "retry", "timeout", "breaker", "bulkhead", "rateLimit", "hedge", "throttle"},
		map[string]decodeGuard{
			"fallback":  (*decoder).fallback,
			"retry":     (*decoder).retry,
			"timeout":   (*decoder).timeout,
			"breaker":   (*decoder).breaker,
			"bulkhead":  (*decoder).bulkhead,
			"rateLimit": (*decoder).rateLimit,
			"hedge":     (*decoder).hedge,
			"throttle":  (*decoder).throttle,
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
		unread := d.faults[before:len(d.faults):len(d.faults)]
		if err := g.Validate(); err != nil {
			for _, fault := range faultsOf(err) {
				if fault = path + "." + kind + "." + fault; !concerns(unread, fault) {
					d.faults = append(d.faults, fault)
				}
			}
		}
		return g
	}
	return nil
}

// concerns says whether a fault is of a value that could not be read, so that
// it says nothing of what was written. Unread are the faults of reading.
func concerns(unread []string, fault string) bool {
	where, _, _ := strings.Cut(fault, ": ")
	return slices.ContainsFunc(unread, func(u string) bool {
		key, _, _ := strings.Cut(u, ": ")
		return where == key || strings.HasPrefix(where, key+".") || strings.HasPrefix(key, where+".")
	})
}

func (d *decoder) timeout(path string, body any) resilience.Guard {
	return resilience.TimeoutGuard{Limit: d.duration(path, body)}
}

func (d *decoder) bulkhead(path string, body any) resilience.Guard {
	o := d.object(path, body, "maxConcurrent", "maxWait", "maxQueue")
	o.require("maxConcurrent")
	return resilience.BulkheadGuard{Config: bulkhead.Config{
		MaxConcurrent: o.integer("maxConcurrent", 1),
		MaxWait:       o.duration("maxWait", 0),
		MaxQueue:      o.integer("maxQueue", 0),
	}}
}

func (d *decoder) rateLimit(path string, body any) resilience.Guard {
	o := d.object(path, body, "permits", "per", "maxWait")
	o.require("permits")
	o.require("per")
	return resilience.RateLimitGuard{Config: ratelimit.Config{
		Permits: o.integer("permits", 1),
		Per:     o.duration("per", time.Second),
		MaxWait: o.duration("maxWait", 0),
	}}
}

func (d *decoder) throttle(path string, body any) resilience.Guard {
	o := d.object(path, body, "k", "window")
	return resilience.ThrottleGuard{Config: throttle.Config{
		K:      o.number("k", resilience.DefaultThrottleK),
		Window: o.duration("window", resilience.DefaultThrottleWindow),
	}}
}

func (d *decoder) hedge(path string, body any) resilience.Guard {
	o := d.object(path, body, "after", "max", "budget")
	o.require("after")
	g := resilience.HedgeGuard{Config: hedge.Config{Max: o.integer("max", 1)}, Budget: o.budget("budget")}
	if _, nested := o.get("after").(map[string]any); nested {
		a := o.object("after", "percentile")
		a.require("percentile")
		g.Percentile = a.number("percentile", 0)
	} else {
		g.After = o.duration("after", 1)
	}
	return g
}

// Function stands for a function of the caller's own in a tree: the value of
// fallback, or of its key function.
type Function struct{}

func (d *decoder) fallback(path string, body any) resilience.Guard {
	g := resilience.FallbackGuard{On: resilience.DefaultFallbackOn()}
	if _, ok := body.(Function); ok {
		g.Function = true
		return g
	}
	o := d.object(path, body, "value", "status", "body", "function", "cache", "on")
	g.On = o.outcomes("on", g.On)
	if o.has("function") {
		if _, g.Function = o.get("function").(Function); !g.Function {
			d.fault(o.at("function"), "%s is not a function", show(o.get("function")))
		}
	}
	if o.has("cache") {
		c := o.object("cache", "ttl")
		c.require("ttl")
		g.CacheTTL = c.duration("ttl", 1)
	}
	switch {
	case o.has("value") && (o.has("status") || o.has("body")):
		d.fault(path, "give either value, or status and body")
	case o.has("value"):
		g.Value = o.get("value")
	case o.has("status") || o.has("body"):
		status := o.integer("status", 200)
		if status < 100 || status > 599 {
			d.fault(o.at("status"), "%d is not in 100 … 599", status)
		}
		g.Value = &httpcall.Response{Status: status, Body: []byte(o.text("body", ""))}
	}
	return g
}

// budget reads a budget, whose keys depend on its kind. Nil: there is none.
func (o *object) budget(key string) *budget.Config {
	if !o.has(key) {
		return nil
	}
	keys := map[budget.Kind][]string{
		budget.Window:      {"ratio", "minPerSecond", "ttl"},
		budget.Tokens:      {"max", "ratio"},
		budget.Quota:       {"capacity", "cost", "timeoutCost"},
		budget.Concurrency: {"percent", "min"},
	}
	var kind string
	if values, ok := o.get(key).(map[string]any); ok {
		kind, _ = values["kind"].(string)
	}
	b := o.object(key, append([]string{"kind", "name"}, keys[budget.Kind(kind)]...)...)
	if b == nil {
		return nil
	}
	c := budget.Default(budget.Kind(kind))
	if !b.has("kind") {
		o.d.fault(b.at("kind"), "is missing")
		return &c
	}
	c.Name = b.text("name", "")
	c.Ratio = b.number("ratio", c.Ratio)
	c.MinPerSecond = b.number("minPerSecond", c.MinPerSecond)
	c.TTL = b.duration("ttl", c.TTL)
	c.Max = b.number("max", c.Max)
	c.Capacity = b.number("capacity", c.Capacity)
	c.Cost = b.number("cost", c.Cost)
	c.TimeoutCost = b.number("timeoutCost", c.TimeoutCost)
	c.Percent = b.number("percent", c.Percent)
	c.Min = b.integer("min", c.Min)
	return &c
}

func (d *decoder) retry(path string, body any) resilience.Guard {
	o := d.object(path, body, "maxAttempts", "backoff", "jitter", "retryOn", "retryAfter", "budget")
	g := resilience.RetryGuard{
		MaxAttempts:   o.integer("maxAttempts", resilience.DefaultMaxAttempts),
		RetryOn:       o.outcomes("retryOn", resilience.DefaultRetryOn()),
		MaxRetryAfter: resilience.DefaultMaxRetryAfter,
		Budget:        o.budget("budget"),
	}
	b := o.object("backoff", "initial", "multiplier", "max")
	g.Backoff = backoff.Schedule{
		Initial:    b.duration("initial", 0),
		Multiplier: b.number("multiplier", resilience.DefaultMultiplier),
		Max:        b.duration("max", resilience.DefaultMaxWait),
	}
	g.Backoff.Jitter, g.Backoff.Fraction = o.jitter("jitter")
	if _, nested := o.get("retryAfter").(map[string]any); nested {
		g.MaxRetryAfter = o.object("retryAfter", "max").duration("max", resilience.DefaultMaxRetryAfter)
	} else {
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
