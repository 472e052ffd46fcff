// Package k6http is the module `k6/http`.
package k6http

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
)

// New makes the module for a virtual user.
func New(vu modules.VU) (modules.Exports, error) {
	c := &client{vu: vu, rt: vu.Runtime(), expect: expected{{200, 399}}, cookies: &jar{}, tagCache: make(map[tagKey]*metrics.TagSet), addresses: make(map[string]*address)}
	named := map[string]any{
		"get":     c.bodyless("get", http.MethodGet),
		"head":    c.bodyless("head", http.MethodHead),
		"post":    c.method(http.MethodPost),
		"put":     c.method(http.MethodPut),
		"patch":   c.method(http.MethodPatch),
		"del":     c.method(http.MethodDelete),
		"options": c.method(http.MethodOptions),
		"request": func(call sobek.FunctionCall) sobek.Value {
			return c.send(call.Argument(0).String(), call.Argument(1), call.Argument(2), call.Argument(3))
		},
		"asyncRequest": func(call sobek.FunctionCall) sobek.Value {
			return c.sendAsync(call.Argument(0).String(), call.Argument(1), call.Argument(2), call.Argument(3))
		},
		"batch":               c.batch,
		"url":                 c.url,
		"file":                c.file,
		"cookieJar":           c.cookieJar,
		"CookieJar":           c.newCookieJar,
		"expectedStatuses":    c.expectedStatuses,
		"setResponseCallback": c.setResponseCallback,
		"TLS_1_0":             "tls1.0",
		"TLS_1_1":             "tls1.1",
		"TLS_1_2":             "tls1.2",
		"TLS_1_3":             "tls1.3",
	}
	return modules.Exports{Named: named}, nil
}

// client is the module's instance of one virtual user.
type client struct {
	vu     modules.VU
	rt     *sobek.Runtime
	expect statuses

	cookies   *jar // use jar()
	cookiesOf int64

	addresses map[string]*address // by the text that the script gave

	mu       sync.Mutex // a batch makes requests on several goroutines
	tagCache map[tagKey]*metrics.TagSet
	traces   []*trace // that no hop has now
}

func (c *client) method(verb string) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		return c.send(verb, call.Argument(0), call.Argument(1), call.Argument(2))
	}
}

// bodyless is a method whose second argument are the parameters.
func (c *client) bodyless(name, verb string) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		if n := len(call.Arguments); n > 2 {
			c.vu.Warn("http."+name+" arguments", fmt.Sprintf("http.%s takes a URL and parameters, and no body: %d arguments were given", name, n))
		}
		return c.send(verb, call.Argument(0), sobek.Undefined(), call.Argument(1))
	}
}

// send makes a request and waits for its answer.
func (c *client) send(method string, url, body, params sobek.Value) sobek.Value {
	r, res, err := c.prepare(method, url, body, params)
	if err != nil {
		modules.Throw(c.rt, "%s", err)
	}
	if res == nil {
		res = r.do()
	}
	if res.thrown != nil {
		modules.Throw(c.rt, "%s", res.thrown)
	}
	return c.response(res)
}

// sendAsync makes a request beside the script and returns its promise.
func (c *client) sendAsync(method string, url, body, params sobek.Value) sobek.Value {
	p, resolve, reject := c.rt.NewPromise()
	r, res, err := c.prepare(method, url, body, params)
	settle := func(res *result, err error) error {
		if err != nil {
			return reject(modules.NewError(c.rt, err.Error()))
		}
		return resolve(c.response(res))
	}
	if r == nil {
		if err := settle(res, err); err != nil {
			modules.Rethrow(c.rt, err)
		}
		return c.rt.ToValue(p)
	}
	done := c.vu.Callback()
	go func() {
		res := r.do()
		done(func() error { return settle(res, res.thrown) })
	}()
	return c.rt.ToValue(p)
}

// refusal is an error that the script gets thrown in any case: what it asks
// for is not there.
type refusal struct{ what string }

func (r refusal) Error() string {
	return r.what + " is not in the built-in runner; use a k6 build (see README)"
}

// prepare reads a request's arguments. For a request that cannot be made it
// returns the result that says so or, where the script is to have it thrown,
// the error.
func (c *client) prepare(method string, url, body, params sobek.Value) (*request, *result, error) {
	c.mustRun("requests")
	r := &request{client: c}
	err := r.read(method, url, body, params)
	if err == nil {
		return r, nil, nil
	}
	res, err := c.unmade(method, r.url, err, r.throw)
	return nil, res, err
}

// unmade is the result of a request that cannot be made, or the error to throw.
func (c *client) unmade(method, target string, err error, throw bool) (*result, error) {
	var refused refusal
	if throw || errors.As(err, &refused) {
		return nil, err
	}
	res := &result{request: &http.Request{Method: method, URL: &url.URL{Opaque: target}}, url: target}
	res.code, res.errText = codeGeneric, err.Error()
	var coded *codedError
	if errors.As(err, &coded) {
		res.code = coded.code
	}
	c.vu.Warn("http "+res.errText, "request failed: "+res.errText)
	return res, nil
}

func (c *client) mustRun(what string) {
	if c.vu.InitContext() {
		modules.Throw(c.rt, "%s do not work in the init context (the script's top level)", what)
	}
}

// came is a JS value in the words of an error that expects another.
func came(v sobek.Value) string {
	if v == nil {
		return "undefined"
	}
	o, ok := v.(*sobek.Object)
	if !ok {
		if text, ok := v.Export().(string); ok {
			return start(text)
		}
		return v.String()
	}
	switch class := o.ClassName(); class {
	case "Object":
		return "an object"
	case "Array":
		return "an array"
	case "Function":
		return "a function"
	default:
		return "an object of class " + strconv.Quote(class)
	}
}
