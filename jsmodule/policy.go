package jsmodule

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/retrylab/retrylab/resilience/httpcall"
)

// newPolicy is the constructor Policy: by the name of a known policy, or by
// an object {name, scope, guards}.
func (i *Instance) newPolicy(call sobek.ConstructorCall) *sobek.Object {
	const wanted = "a policy's name or an object {name, guards}"
	argument := i.constructor("Policy", call, 2, wanted)
	definition := argument.Export()
	var fallback sobek.Callable
	switch tree := definition.(type) {
	case string:
	case map[string]any:
		fallback = i.takeFallback(tree)
	default:
		i.typeError("new Policy takes %s; got %s", wanted, describe(argument))
	}
	config, err := i.lookup(definition)
	if err != nil {
		i.typeError("%v", err)
	}
	policy, err := i.policy(config)
	if err != nil {
		i.typeError("%v", err)
	}
	p := &jsPolicy{instance: i, policy: policy, fallback: fallback, poolSize: i.poolSize(call.Argument(1))}
	for _, m := range []struct {
		name   string
		method string
		body   bool
	}{
		{"get", http.MethodGet, false}, {"head", http.MethodHead, false}, {"options", http.MethodOptions, true},
		{"post", http.MethodPost, true}, {"put", http.MethodPut, true},
		{"patch", http.MethodPatch, true}, {"del", http.MethodDelete, true},
	} {
		p.set(call.This, m.name, func(c sobek.FunctionCall) sobek.Value {
			if m.body {
				return p.http(m.method, c.Argument(0), c.Argument(1), c.Argument(2))
			}
			return p.http(m.method, c.Argument(0), nil, c.Argument(1))
		})
	}
	p.set(call.This, "request", func(c sobek.FunctionCall) sobek.Value {
		return p.http(strings.ToUpper(c.Argument(0).String()), c.Argument(1), c.Argument(2), c.Argument(3))
	})
	p.set(call.This, "execute", p.execute)
	p.set(call.This, "reset", func(sobek.FunctionCall) sobek.Value {
		policy.Reset()
		return sobek.Undefined()
	})
	p.set(call.This, "name", policy.Name())
	p.readable(call.This)
	return nil
}

// jsPolicy is a policy as one VU uses it.
type jsPolicy struct {
	instance *Instance
	policy   *resilience.Policy
	fallback sobek.Callable // nil: the policy has no function of the script's
	poolSize int            // 0: the VU's own connections
}

// transport makes the policy's calls.
func (p *jsPolicy) transport() http.RoundTripper {
	own := p.instance.host.Transport()
	if p.poolSize == 0 {
		return own
	}
	shared, err := p.instance.module.pool(p.policy.Name(), p.poolSize, own)
	if err != nil {
		p.instance.typeError("%v", err)
	}
	return shared.transport
}

// readable lets a script read the state of the policy's guards.
func (p *jsPolicy) readable(o *sobek.Object) {
	p.getter(o, "inflight", func(s resilience.State) any { return s.Inflight })
	guard := func(name string, has bool, fields map[string]func(resilience.State) any) {
		if !has {
			return
		}
		g := p.instance.host.Runtime().NewObject()
		for field, read := range fields {
			p.getter(g, field, read)
		}
		p.set(o, name, g)
	}
	type fields = map[string]func(resilience.State) any
	s := p.policy.State()
	guard("breaker", s.HasBreaker, fields{"state": func(s resilience.State) any { return s.Breaker.String() }})
	guard("budget", s.HasBudget, fields{"balance": func(s resilience.State) any { return s.Budget }})
	guard("bulkhead", s.HasBulkhead, fields{
		"available": func(s resilience.State) any { return s.Available },
		"waiting":   func(s resilience.State) any { return s.Waiting },
	})
	guard("throttle", s.HasThrottle, fields{"probability": func(s resilience.State) any { return s.Throttle }})
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

// do makes one request, and pushes its samples.
func (p *jsPolicy) do(call resilience.Call, key string) (resilience.Report, *recorder) {
	record := p.instance.recorder(p.policy.Name())
	request := resilience.Request{Call: call, Observer: record, Key: key}
	if p.fallback != nil {
		request.Fallback = func(_ context.Context, last resilience.Result) (any, error) {
			value, err := p.fallback(sobek.Undefined(), p.instance.cause(last))
			return value, err
		}
	}
	report := p.policy.Do(record.ctx, request)
	record.finish(report)
	return report, record
}

func (p *jsPolicy) set(o *sobek.Object, name string, value any) {
	if err := o.DefineDataProperty(name, p.instance.host.Runtime().ToValue(value),
		sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_TRUE); err != nil {
		panic(err)
	}
}

func (p *jsPolicy) getter(o *sobek.Object, name string, read func(resilience.State) any) {
	rt := p.instance.host.Runtime()
	get := rt.ToValue(func(sobek.FunctionCall) sobek.Value { return rt.ToValue(read(p.policy.State())) })
	if err := o.DefineAccessorProperty(name, get, nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE); err != nil {
		panic(err)
	}
}

// calling refuses calls where the host cannot make any.
func (p *jsPolicy) calling(what string) {
	if p.instance.host.InitContext() {
		p.instance.typeError("%s: no calls can be made in the init context", what)
	}
}

// http makes one request over HTTP: every attempt in Go, so that a timeout
// really cancels it.
func (p *jsPolicy) http(method string, target, body, params sobek.Value) sobek.Value {
	p.calling("policy." + strings.ToLower(method))
	request := p.instance.parseRequest(method, target, body, params)
	transport := p.transport()
	m := p.instance.module
	if request.ID = request.Header.Get(httpcall.HeaderRequest); request.ID == "" {
		request.ID = fmt.Sprintf("%016x-%d", m.run, m.requests.Add(1))
	}
	call := func(ctx context.Context, a resilience.Attempt) resilience.Result {
		return httpcall.Do(ctx, transport, a, request)
	}
	report, record := p.do(call, method+" "+request.URL)
	return p.outcome(report, record)
}

// parseRequest reads the arguments of an HTTP method as k6/http has them.
func (i *Instance) parseRequest(method string, target, body, params sobek.Value) httpcall.Request {
	r := httpcall.Request{Method: method, Header: http.Header{"User-Agent": {"retrylab"}}}
	if isNothing(target) {
		i.typeError("%s: the URL is missing", strings.ToLower(method))
	}
	r.URL = target.String()
	if !isNothing(body) {
		switch value := body.Export().(type) {
		case string:
			r.Body = []byte(value)
		case sobek.ArrayBuffer:
			r.Body = value.Bytes()
		case map[string]any:
			form := url.Values{}
			for key, field := range value {
				form.Set(key, fmt.Sprint(field))
			}
			r.Body = []byte(form.Encode())
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		default:
			i.typeError("%s: the body must be a string, an ArrayBuffer or an object of form fields; got %s",
				strings.ToLower(method), describe(body))
		}
	}
	if !isNothing(params) {
		i.parseParams(&r, params)
	}
	if err := r.Validate(); err != nil {
		i.typeError("%s: %v", strings.ToLower(method), err)
	}
	return r
}

// parseParams reads the last argument of an HTTP method.
func (i *Instance) parseParams(r *httpcall.Request, params sobek.Value) {
	for _, key := range params.ToObject(i.host.Runtime()).Keys() {
		value := params.ToObject(i.host.Runtime()).Get(key)
		if key != "headers" {
			i.typeError("%s: unknown parameter %q; known are: headers", strings.ToLower(r.Method), key)
		}
		headers := value.ToObject(i.host.Runtime())
		for _, name := range headers.Keys() {
			r.Header.Set(name, headers.Get(name).String())
		}
	}
}

// execute makes one request of any protocol: the attempts are calls of a
// JavaScript function on the VU's own thread.
func (p *jsPolicy) execute(c sobek.FunctionCall) sobek.Value {
	p.calling("policy.execute")
	attempt, ok := sobek.AssertFunction(c.Argument(0))
	if !ok {
		p.instance.typeError("policy.execute takes a function (attempt) => result; got %s", describe(c.Argument(0)))
	}
	if p.policy.Hedges() {
		p.instance.typeError("policy.execute: policy %q hedges, which works for HTTP calls only", p.policy.Name())
	}
	rt := p.instance.host.Runtime()
	var isFailure sobek.Callable
	if options := c.Argument(1); !isNothing(options) {
		if isFailure, ok = sobek.AssertFunction(options.ToObject(rt).Get("isFailure")); !ok {
			p.instance.typeError("policy.execute: isFailure must be a function (result) => boolean")
		}
	}
	var interrupted *sobek.InterruptedError
	call := func(_ context.Context, a resilience.Attempt) resilience.Result {
		info := rt.NewObject()
		set(info, "number", a.Number)
		set(info, "kind", a.Kind.String())
		if a.Timeout > 0 {
			set(info, "timeoutMs", milliseconds(a.Timeout))
		}
		value, err := attempt(sobek.Undefined(), info)
		if err == nil && isFailure != nil {
			var failed sobek.Value
			if failed, err = isFailure(sobek.Undefined(), value); err == nil && failed.ToBoolean() {
				return resilience.Result{Outcome: resilience.Thrown, Value: value, Err: errors.New("isFailure said so")}
			}
		}
		if err != nil {
			if errors.As(err, &interrupted) {
				return resilience.Result{Outcome: resilience.Cancelled, Err: err}
			}
			return resilience.Result{Outcome: resilience.Thrown, Err: err}
		}
		if isFailure != nil {
			return resilience.Result{Value: value}
		}
		return resilience.Result{Outcome: classify(rt, value), Value: value}
	}
	// What a function returns belongs to the VU's runtime: a cache keeps it for
	// that VU alone.
	report, record := p.do(call, fmt.Sprintf("execute %p", p.instance))
	if interrupted != nil {
		panic(interrupted) // the runtime is being stopped: no script code runs any more
	}
	return p.outcome(report, record)
}

// classify is the outcome of what a JavaScript function returned: of a
// response of k6/http by its status, of anything else OK.
func classify(rt *sobek.Runtime, value sobek.Value) resilience.Outcome {
	o, ok := value.(*sobek.Object)
	if !ok {
		return resilience.OK
	}
	if _, ok := o.Export().(*sobek.Promise); ok {
		panic(rt.NewTypeError("policy.execute: the function returned a promise, so its outcome is not known yet; give a function that is not async"))
	}
	status := o.Get("status")
	if isNothing(status) {
		return resilience.OK
	}
	code, ok := status.Export().(int64)
	if !ok {
		return resilience.OK
	}
	if code != 0 {
		return httpcall.ClassifyStatus(int(code))
	}
	// the error codes of k6/http
	switch e := o.Get("error_code"); {
	case isNothing(e):
		return resilience.Connect
	case e.ToInteger() == 1050:
		return resilience.Timeout
	case e.ToInteger() == 1220:
		return resilience.Reset
	}
	return resilience.Connect
}
