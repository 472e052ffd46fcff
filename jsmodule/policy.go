package jsmodule

import (
	"maps"
	"net/http"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/catalog"
)

// policyClass is the class Policy, with its static method parse.
func (i *Instance) policyClass() *sobek.Object {
	class := i.class("Policy", i.newPolicy)
	define(i.host.Runtime(), class, "parse", func(c sobek.FunctionCall) sobek.Value {
		return i.parsePolicy(class, c)
	})
	return class
}

// newPolicy is the constructor Policy: by the name of a known policy, or by
// an object {name, scope, guards}.
func (i *Instance) newPolicy(call sobek.ConstructorCall) *sobek.Object {
	const wanted = "a policy's name or an object {name, guards}"
	argument := i.constructor("Policy", call, 2, wanted)
	var (
		config   resilience.Config
		fallback sobek.Callable
		err      error
	)
	switch definition := exported(argument).(type) {
	case string:
		var entry catalog.Entry
		entry, err = i.module.catalog.Lookup(definition)
		config = entry.Config
	case map[string]any:
		dropUnset(definition)
		fallback = i.takeFallback(definition)
		config, err = catalog.Decode(definition)
	default:
		i.typeError("new Policy takes %s; got %s", wanted, describe(argument))
	}
	if err != nil {
		i.typeError("%v", err)
	}
	i.makePolicy(call.This, config, fallback, i.policyOptions("new Policy", call.Argument(1)))
	return nil
}

// parsePolicy is the function Policy.parse: one policy of a policy file's
// text, by its name where the file holds several.
func (i *Instance) parsePolicy(class *sobek.Object, c sobek.FunctionCall) sobek.Value {
	text, ok := exported(c.Argument(0)).(string)
	if !ok {
		i.typeError("Policy.parse takes the text of a policy file, as open() gives it; got %s", describe(c.Argument(0)))
	}
	file, err := catalog.Parse("Policy.parse", []byte(text))
	if err != nil {
		i.typeError("%v", err)
	}
	var entry catalog.Entry
	switch name := exported(c.Argument(1)).(type) {
	case string:
		if entry, err = file.Lookup(name); err != nil {
			i.typeError("Policy.parse: %v", err)
		}
	case nil:
		if n := len(file.Entries()); n != 1 {
			i.typeError("Policy.parse: the text holds %d policies: say which by its name", n)
		}
		entry = file.Entries()[0]
	default:
		i.typeError("Policy.parse: the second argument must be a policy's name; got %s", describe(name))
	}
	o := i.host.Runtime().CreateObject(class.Get("prototype").ToObject(i.host.Runtime()))
	i.makePolicy(o, entry.Config, nil, i.policyOptions("Policy.parse", c.Argument(2)))
	return o
}

// policyOptions are what a script may say of a policy beside its definition.
type policyOptions struct {
	poolSize   int  // 0: the VU's own connections
	logRetries bool // at info instead of debug
}

func (i *Instance) policyOptions(what string, options sobek.Value) policyOptions {
	var o policyOptions
	if isNothing(options) {
		return o
	}
	tree, ok := options.Export().(map[string]any)
	if !ok {
		i.typeError("%s: its options must be an object {pool, logRetries}; got %s", what, describe(options))
	}
	for key, value := range tree {
		switch {
		case key != "pool" && key != "logRetries":
			i.typeError("%s: unknown option %q; known are: pool, logRetries", what, key)
		case value == nil: // as a variable that is not set
		case key == "pool":
			o.poolSize = i.poolSize(what, value)
		default:
			if o.logRetries, ok = value.(bool); !ok {
				i.typeError("%s: logRetries must be a boolean; got %s", what, describe(value))
			}
		}
	}
	return o
}

// jsPolicy is a policy as one VU uses it.
type jsPolicy struct {
	policyOptions
	instance *Instance
	policy   *resilience.Policy
	fallback sobek.Callable // nil: the policy has no function of the script's
	pool     *pool          // nil: the VU's own connections
}

// makePolicy makes an object of the class Policy.
func (i *Instance) makePolicy(o *sobek.Object, c resilience.Config, fallback sobek.Callable, options policyOptions) {
	p := &jsPolicy{policyOptions: options, instance: i, fallback: fallback}
	var err error
	if c.Scope == resilience.VU {
		p.policy, err = resilience.New(c, resilience.WithBudgets(&i.budgets))
	} else {
		p.policy, err = i.module.policy(c)
	}
	if err == nil {
		p.pool, err = i.module.pool(c.Name, p.poolSize)
	}
	if err != nil {
		i.typeError("%v", err)
	}
	rt := i.host.Runtime()
	define(rt, o, "name", c.Name)
	for _, m := range []struct {
		name, method string
		body         bool
	}{
		{"get", http.MethodGet, false}, {"head", http.MethodHead, false}, {"options", http.MethodOptions, true},
		{"post", http.MethodPost, true}, {"put", http.MethodPut, true},
		{"patch", http.MethodPatch, true}, {"del", http.MethodDelete, true},
	} {
		define(rt, o, m.name, func(c sobek.FunctionCall) sobek.Value {
			if m.body {
				return p.http("policy."+m.name, m.method, c.Argument(0), c.Argument(1), c.Argument(2))
			}
			return p.http("policy."+m.name, m.method, c.Argument(0), nil, c.Argument(1))
		})
	}
	define(rt, o, "request", p.request)
	define(rt, o, "execute", p.execute)
	define(rt, o, "executeAsync", p.executeAsync)
	define(rt, o, "state", p.state)
	define(rt, o, "reset", func(sobek.FunctionCall) sobek.Value {
		p.policy.Reset()
		return sobek.Undefined()
	})
}

// state is what can be read of the policy's guards now.
func (p *jsPolicy) state(sobek.FunctionCall) sobek.Value {
	rt := p.instance.host.Runtime()
	s := p.policy.State()
	o := rt.NewObject()
	set(o, "inflight", s.Inflight)
	guard := func(name string, has bool, describe func(g *sobek.Object)) {
		if has {
			g := rt.NewObject()
			describe(g)
			set(o, name, g)
		}
	}
	guard("breaker", s.HasBreaker, func(g *sobek.Object) {
		set(g, "state", s.Breaker.String())
		set(g, "calls", s.Window.Total)
		set(g, "failures", s.Window.Failures)
		set(g, "slow", s.Window.Slow)
	})
	guard("budget", s.HasBudget, func(g *sobek.Object) { set(g, "balance", s.Budget) })
	guard("bulkhead", s.HasBulkhead, func(g *sobek.Object) {
		set(g, "available", s.Available)
		set(g, "waiting", s.Waiting)
	})
	guard("throttle", s.HasThrottle, func(g *sobek.Object) { set(g, "probability", s.Throttle) })
	return o
}

// takeFallback takes the function out of a definition's fallback, if there is
// one, and leaves a mark in its place.
func (i *Instance) takeFallback(tree map[string]any) sobek.Callable {
	var taken sobek.Callable
	take := func(holder map[string]any, key string) {
		function, ok := holder[key].(func(sobek.FunctionCall) sobek.Value)
		if !ok {
			return
		}
		if taken != nil {
			i.typeError("new Policy: one fallback of a policy can be a function, not several")
		}
		taken, _ = sobek.AssertFunction(i.host.Runtime().ToValue(function))
		holder[key] = catalog.Function{}
	}
	guards, _ := tree["guards"].([]any)
	for _, item := range guards {
		if guard, ok := item.(map[string]any); ok {
			take(guard, "fallback")
			if body, ok := guard["fallback"].(map[string]any); ok {
				take(body, "function")
			}
		}
	}
	return taken
}

// dropUnset takes the keys without a value out of a definition and out of its
// guards: they are as absent. What the value of a fallback holds is left alone.
func dropUnset(definition map[string]any) {
	drop := func(tree any) map[string]any {
		o, _ := tree.(map[string]any)
		maps.DeleteFunc(o, func(_ string, value any) bool { return value == nil })
		return o
	}
	guards, _ := drop(definition)["guards"].([]any)
	for _, item := range guards {
		guard, _ := item.(map[string]any)
		for _, body := range guard {
			for key, nested := range drop(body) {
				if key != "value" {
					drop(nested)
				}
			}
		}
	}
}

// transport makes the policy's calls.
func (p *jsPolicy) transport() http.RoundTripper {
	own := p.instance.host.Transport()
	if p.pool == nil {
		return own
	}
	return p.pool.like(own)
}

// calling refuses calls where the host cannot make any.
func (p *jsPolicy) calling(what string) {
	if p.instance.host.InitContext() {
		p.instance.typeError("%s: no calls can be made in the init context", what)
	}
}

// tags reads {name: value} into pairs.
func (i *Instance) tags(what string, value sobek.Value) (pairs []string) {
	i.texts(what, "tags", value, func(name, text string) { pairs = append(pairs, name, text) })
	return pairs
}
