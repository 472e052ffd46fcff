// Package k6http is the module `k6/http`.
package k6http

import (
	"net/http"
	"sync"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
)

// New makes the module for a virtual user.
func New(vu modules.VU) (modules.Exports, error) {
	c := &client{vu: vu, rt: vu.Runtime(), expect: expected{{200, 399}}, tagCache: make(map[tagKey]*metrics.TagSet)}
	named := map[string]any{
		"get":     c.method(http.MethodGet, false),
		"head":    c.method(http.MethodHead, false),
		"post":    c.method(http.MethodPost, true),
		"put":     c.method(http.MethodPut, true),
		"patch":   c.method(http.MethodPatch, true),
		"del":     c.method(http.MethodDelete, true),
		"options": c.method(http.MethodOptions, true),
		"request": func(call sobek.FunctionCall) sobek.Value {
			return c.send(call.Argument(0).String(), call.Argument(1), call.Argument(2), call.Argument(3))
		},
		"asyncRequest": func(call sobek.FunctionCall) sobek.Value {
			return c.sendAsync(call.Argument(0).String(), call.Argument(1), call.Argument(2), call.Argument(3))
		},
		"batch":               c.batch,
		"url":                 c.url,
		"expectedStatuses":    c.expectedStatuses,
		"setResponseCallback": c.setResponseCallback,
	}
	return modules.Exports{Named: named}, nil
}

// client is the module's instance of one virtual user.
type client struct {
	vu     modules.VU
	rt     *sobek.Runtime
	expect statuses

	jar     jar
	jarIter int64

	mu       sync.Mutex // a batch makes tags from several goroutines
	tagCache map[tagKey]*metrics.TagSet
}

func (c *client) method(verb string, hasBody bool) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		if hasBody {
			return c.send(verb, call.Argument(0), call.Argument(1), call.Argument(2))
		}
		return c.send(verb, call.Argument(0), sobek.Undefined(), call.Argument(1))
	}
}

// send makes a request and waits for its answer.
func (c *client) send(method string, url, body, params sobek.Value) sobek.Value {
	r, res := c.prepare(method, url, body, params)
	if res == nil {
		res = r.do()
	}
	if res.thrown != nil {
		panic(modules.NewError(c.rt, res.thrown.Error()))
	}
	return c.response(res)
}

// sendAsync makes a request beside the script and returns its promise.
func (c *client) sendAsync(method string, url, body, params sobek.Value) sobek.Value {
	p, resolve, reject := c.rt.NewPromise()
	r, res := c.prepare(method, url, body, params)
	settle := func(res *result) error {
		if res.thrown != nil {
			return reject(modules.NewError(c.rt, res.thrown.Error()))
		}
		return resolve(c.response(res))
	}
	if res != nil {
		if err := settle(res); err != nil {
			modules.Rethrow(c.rt, err)
		}
		return c.rt.ToValue(p)
	}
	done := c.vu.Callback()
	go func() {
		res := r.do()
		done(func() error { return settle(res) })
	}()
	return c.rt.ToValue(p)
}

// prepare reads a request's arguments. For a request that cannot be made it
// returns the result that says so, or throws where the script asked for that.
func (c *client) prepare(method string, url, body, params sobek.Value) (*request, *result) {
	if c.vu.InitContext() {
		modules.Throw(c.rt, "requests do not work in the init context (the script's top level)")
	}
	if it := c.vu.Iteration(); it != c.jarIter {
		c.jarIter = it
		if !c.vu.Settings().NoCookiesReset {
			c.jar.reset()
		}
	}
	r := &request{client: c}
	err := r.read(method, url, body, params)
	if err == nil {
		return r, nil
	}
	if c.vu.Settings().Throw || r.throw {
		modules.Throw(c.rt, "%s", err)
	}
	code, text := classify(err)
	c.vu.Warn("http "+text, "request failed: "+text)
	return nil, &result{url: r.url, method: method, code: code, errText: text}
}

// batch makes several requests at the same time.
func (c *client) batch(call sobek.FunctionCall) sobek.Value {
	if modules.IsNullish(call.Argument(0)) {
		modules.Throw(c.rt, "batch() needs an array or an object of requests")
	}
	list := call.Argument(0).ToObject(c.rt)
	keys := list.Keys()
	results := make([]*result, len(keys))
	requests := make([]*request, len(keys))
	for i, key := range keys {
		method, url, body, params := c.entry(list.Get(key))
		requests[i], results[i] = c.prepare(method, url, body, params)
	}
	all := make(chan struct{}, c.vu.Settings().Batch)
	hosts := make(map[string]chan struct{})
	var wg sync.WaitGroup
	for i, r := range requests {
		if r == nil {
			continue
		}
		host, ok := hosts[r.req.URL.Host]
		if !ok {
			host = make(chan struct{}, c.vu.Settings().BatchPerHost)
			hosts[r.req.URL.Host] = host
		}
		wg.Go(func() {
			host <- struct{}{}
			defer func() { <-host }()
			all <- struct{}{}
			defer func() { <-all }()
			results[i] = r.do()
		})
	}
	wg.Wait()
	var out *sobek.Object
	if list.ClassName() == "Array" {
		out = c.rt.NewArray()
	} else {
		out = c.rt.NewObject()
	}
	for i, key := range keys {
		if results[i].thrown != nil {
			panic(modules.NewError(c.rt, results[i].thrown.Error()))
		}
		if err := out.Set(key, c.response(results[i])); err != nil {
			modules.Rethrow(c.rt, err)
		}
	}
	return out
}

// entry is one request of a batch: a URL, [method, url, body, params] or an
// object with these keys.
func (c *client) entry(v sobek.Value) (method string, url, body, params sobek.Value) {
	o, ok := v.(*sobek.Object)
	if !ok {
		return http.MethodGet, v, sobek.Undefined(), sobek.Undefined()
	}
	get := func(key string) sobek.Value {
		if got := o.Get(key); got != nil {
			return got
		}
		return sobek.Undefined()
	}
	if o.ClassName() == "Array" {
		return get("0").String(), get("1"), get("2"), get("3")
	}
	if m := get("method"); !modules.IsNullish(m) {
		method = m.String()
	} else {
		method = http.MethodGet
	}
	return method, get("url"), get("body"), get("params")
}
