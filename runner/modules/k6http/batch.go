package k6http

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// batch makes several requests at the same time.
func (c *client) batch(call sobek.FunctionCall) sobek.Value {
	c.mustRun("batches")
	list, ok := call.Argument(0).(*sobek.Object)
	if _, isFunc := sobek.AssertFunction(call.Argument(0)); !ok || isFunc {
		modules.Throw(c.rt, "batch() needs an array or an object of requests, not %s", came(call.Argument(0)))
	}
	if n := len(call.Arguments); n > 1 {
		modules.Throw(c.rt, "batch() takes one array or object of requests, not %d arguments", n)
	}
	keys := list.Keys()
	results := make([]*result, len(keys))
	requests := make([]*request, len(keys))
	for i, key := range keys {
		method, url, body, params, err := c.entry(list.Get(key))
		if err == nil {
			requests[i], results[i], err = c.prepare(method, url, body, params)
		} else {
			results[i], err = c.unmade("", "", fmt.Errorf("batch(): request %q: %w", key, err), c.vu.Settings().Throw)
		}
		if err != nil {
			modules.Throw(c.rt, "%s", err)
		}
	}
	c.together(requests, results)
	var out *sobek.Object
	if list.ClassName() == "Array" {
		out = c.rt.NewArray()
	} else {
		out = c.rt.NewObject()
	}
	for i, key := range keys {
		if results[i].thrown != nil {
			modules.Throw(c.rt, "%s", results[i].thrown)
		}
		if err := out.Set(key, c.response(results[i])); err != nil {
			modules.Rethrow(c.rt, err)
		}
	}
	return out
}

// together makes the requests that are not nil.
func (c *client) together(requests []*request, results []*result) {
	set := c.vu.Settings()
	hosts := make([]string, len(requests))
	for i, r := range requests {
		if r != nil {
			hosts[i] = r.req.URL.Host
		}
	}
	atOnce(hosts, set.Batch, set.BatchPerHost, func(i int) {
		if requests[i] != nil {
			results[i] = requests[i].do()
		}
	})
}

// atOnce calls do for each of the hosts, in their order and as many at once as
// all and perHost allow; 0 for the latter bounds nothing.
func atOnce(hosts []string, all, perHost int, do func(i int)) {
	places := make(map[string]chan struct{})
	for _, host := range hosts {
		if perHost > 0 && places[host] == nil {
			places[host] = make(chan struct{}, perHost)
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(all, len(hosts)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(hosts); i = int(next.Add(1)) - 1 {
				place := places[hosts[i]]
				if place != nil {
					place <- struct{}{}
				}
				do(i)
				if place != nil {
					<-place
				}
			}
		})
	}
	wg.Wait()
}

// entry is one request of a batch: a URL, [method, url, body, params] or an
// object with these keys.
func (c *client) entry(v sobek.Value) (method string, url, body, params sobek.Value, err error) {
	o, ok := v.(*sobek.Object)
	if !ok || templateOf(o) != nil {
		return http.MethodGet, v, sobek.Undefined(), sobek.Undefined(), nil
	}
	get := func(key string) sobek.Value {
		if got := o.Get(key); got != nil {
			return got
		}
		return sobek.Undefined()
	}
	keys := [...]string{"method", "url", "body", "params"}
	if o.ClassName() == "Array" {
		keys = [...]string{"0", "1", "2", "3"}
	}
	verb := get(keys[0])
	url, body, params = get(keys[1]), get(keys[2]), get(keys[3])
	if modules.IsNullish(url) {
		return "", nil, nil, nil, fmt.Errorf("it has no URL: want a URL, [method, url, body, params] or an object with these keys")
	}
	if modules.IsNullish(verb) && o.ClassName() != "Array" {
		return http.MethodGet, url, body, params, nil
	}
	method, ok = verb.Export().(string)
	if !ok {
		return "", nil, nil, nil, fmt.Errorf("the method is %s, want text like \"GET\"", came(verb))
	}
	if o.ClassName() != "Array" { // as k6
		method = strings.ToUpper(method)
		if method == http.MethodGet || method == http.MethodHead {
			body = sobek.Undefined()
		}
	}
	return method, url, body, params, nil
}
