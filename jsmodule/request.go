package jsmodule

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/httpcall"
)

// request is policy.request(method, url, body, params).
func (p *jsPolicy) request(c sobek.FunctionCall) sobek.Value {
	method, ok := exported(c.Argument(0)).(string)
	if !ok || method == "" {
		p.instance.typeError("policy.request takes a method, such as 'GET', and a URL; got %s", describe(c.Argument(0)))
	}
	return p.http("policy.request", strings.ToUpper(method), c.Argument(1), c.Argument(2), c.Argument(3))
}

// http makes one request over HTTP: every attempt in Go, so that a timeout
// really cancels it. What is the method's name in the script.
func (p *jsPolicy) http(what, method string, target, body, params sobek.Value) sobek.Value {
	p.calling(what)
	request, tags := p.instance.parseRequest(what, method, target, body, params)
	transport := p.transport()
	m := p.instance.module
	if request.ID = request.Header.Get(httpcall.HeaderRequest); request.ID == "" {
		request.ID = fmt.Sprintf("%016x-%d", m.run, m.requests.Add(1))
	}
	call := func(ctx context.Context, a resilience.Attempt) resilience.Result {
		return httpcall.Do(ctx, transport, a, request)
	}
	report, record := p.do(resilience.Request{Call: call, Key: method + " " + request.URL}, tags)
	return p.outcome(report, record)
}

// do makes one request on the VU's goroutine, and pushes its samples.
func (p *jsPolicy) do(request resilience.Request, tags []string) (resilience.Report, *recorder) {
	record := p.recorder(tags)
	request.Observer = record
	if p.fallback != nil {
		request.Fallback = func(_ context.Context, last resilience.Result) (any, error) {
			value, err := p.fallback(sobek.Undefined(), p.instance.cause(last, record.attempts))
			if err != nil {
				return nil, p.instance.thrown(err)
			}
			if promised(value) {
				p.instance.typeError("policy %q: the fallback must return its answer; got a promise, which only policy.executeAsync waits for", p.policy.Name())
			}
			return value, nil
		}
	}
	report := p.policy.Do(record.ctx, request)
	record.finish(report)
	return report, record
}

// parseRequest reads the arguments of an HTTP method as k6/http has them, and
// the tags of its samples.
func (i *Instance) parseRequest(what, method string, target, body, params sobek.Value) (httpcall.Request, []string) {
	r := httpcall.Request{Method: method, Header: http.Header{"User-Agent": {"retrylab"}}}
	if isNothing(target) {
		i.typeError("%s: the URL is missing", what)
	}
	if !sobek.IsString(target) {
		i.typeError("%s: the URL must be a string; got %s", what, describe(target))
	}
	r.URL = target.String()
	if !isNothing(body) {
		switch value := exported(body).(type) {
		case string:
			r.Body = []byte(value)
		case sobek.ArrayBuffer:
			r.Body = value.Bytes()
		case map[string]any:
			form := url.Values{}
			fields := body.ToObject(i.host.Runtime())
			for key := range value {
				form.Set(key, fields.Get(key).String())
			}
			r.Body = []byte(form.Encode())
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		default:
			i.typeError("%s: the body must be a string, an ArrayBuffer or an object of form fields; got %s", what, describe(body))
		}
	}
	var tags []string
	i.eachOption(what, "parameter", params, map[string]func(sobek.Value){
		"headers": func(v sobek.Value) { i.texts(what, "headers", v, r.Header.Set) },
		"tags":    func(v sobek.Value) { tags = i.tags(what, v) },
	})
	if err := r.Validate(); err != nil {
		i.typeError("%s: %v", what, err)
	}
	return r, tags
}

// texts reads {name: value}, each value as the script would print it.
func (i *Instance) texts(what, kind string, value sobek.Value, use func(name, text string)) {
	if _, ok := value.Export().(map[string]any); !ok {
		i.typeError("%s: %s must be an object of names and values; got %s", what, kind, describe(value))
	}
	o := value.ToObject(i.host.Runtime())
	for _, name := range o.Keys() {
		v := o.Get(name)
		switch exported(v).(type) {
		case string, bool, int64, float64:
			use(name, v.String())
		default:
			i.typeError("%s: %s: %s must be a string, a number or a boolean; got %s", what, kind, name, describe(v))
		}
	}
}

// eachOption reads the last argument of a method: an object, or nothing. An
// option without a value is as one that is absent.
func (i *Instance) eachOption(what, kind string, options sobek.Value, read map[string]func(sobek.Value)) {
	if isNothing(options) {
		return
	}
	var known []string
	for _, name := range []string{"headers", "isFailure", "tags"} {
		if read[name] != nil {
			known = append(known, name)
		}
	}
	if _, ok := options.Export().(map[string]any); !ok {
		i.typeError("%s: its %ss must be an object {%s}; got %s", what, kind, strings.Join(known, ", "), describe(options))
	}
	o := options.ToObject(i.host.Runtime())
	for _, name := range o.Keys() {
		if read[name] == nil {
			i.typeError("%s: unknown %s %q; known are: %s", what, kind, name, strings.Join(known, ", "))
		}
		if value := o.Get(name); !isNothing(value) {
			read[name](value)
		}
	}
}
