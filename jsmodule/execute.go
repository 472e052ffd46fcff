package jsmodule

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/httpcall"
)

// execution is one request whose attempts are calls of a JavaScript function.
type execution struct {
	policy    *jsPolicy
	attempt   sobek.Callable
	isFailure sobek.Callable // nil: the result itself tells, see classify
	tags      []string
}

// errIsFailure is the error of a result that a script's isFailure refused.
var errIsFailure = &thrownError{name: "Error", message: "isFailure said so"}

// parseExecution reads the arguments of execute and executeAsync.
func (p *jsPolicy) parseExecution(what string, c sobek.FunctionCall) *execution {
	p.calling(what)
	e := &execution{policy: p}
	var ok bool
	if e.attempt, ok = sobek.AssertFunction(c.Argument(0)); !ok {
		p.instance.typeError("%s takes a function (attempt) => result; got %s", what, describe(c.Argument(0)))
	}
	p.instance.eachOption(what, "option", c.Argument(1), map[string]func(sobek.Value){
		"isFailure": func(v sobek.Value) {
			if e.isFailure, ok = sobek.AssertFunction(v); !ok {
				p.instance.typeError("%s: isFailure must be a function (result) => boolean; got %s", what, describe(v))
			}
		},
		"tags": func(v sobek.Value) { e.tags = p.instance.tags(what, v) },
	})
	if p.policy.Hedges() {
		p.instance.typeError("%s: policy %q hedges, which works for HTTP calls only", what, p.policy.Name())
	}
	return e
}

// key tells apart the answers that a cache keeps: what a function returns
// belongs to the VU's runtime, so that it is kept for that VU alone.
func (e *execution) key() string { return fmt.Sprintf("execute %p", e.policy.instance) }

// info is what the function gets to know of its attempt.
func (e *execution) info(a resilience.Attempt) *sobek.Object {
	info := e.policy.instance.host.Runtime().NewObject()
	set(info, "number", a.Number)
	set(info, "kind", a.Kind.String())
	if a.Timeout > 0 {
		set(info, "timeoutMs", milliseconds(a.Timeout))
	}
	return info
}

// judge is what came of an attempt whose function returned value.
func (e *execution) judge(value sobek.Value) (resilience.Result, error) {
	if e.isFailure == nil {
		return e.classify(value)
	}
	failed, err := e.isFailure(sobek.Undefined(), value)
	if err != nil {
		return e.failed(err)
	}
	if promised(failed) {
		e.policy.instance.typeError("isFailure must return a boolean; got a promise: await what it needs in the function itself")
	}
	if failed.ToBoolean() {
		return resilience.Result{Outcome: resilience.Thrown, Value: value, Err: errIsFailure}, nil
	}
	return resilience.Result{Value: value}, nil
}

// failed is what came of an attempt whose function threw. The error is that of
// a runtime which is being stopped: no script code runs any more.
func (e *execution) failed(err error) (resilience.Result, error) {
	var interrupted *sobek.InterruptedError
	if errors.As(err, &interrupted) {
		return resilience.Result{Outcome: resilience.Cancelled, Err: context.Canceled}, interrupted
	}
	return resilience.Result{Outcome: resilience.Thrown, Err: e.policy.instance.thrown(err)}, nil
}

// execute makes one request of any protocol: the attempts are calls of a
// JavaScript function on the VU's own thread.
func (p *jsPolicy) execute(c sobek.FunctionCall) sobek.Value {
	e := p.parseExecution("policy.execute", c)
	var stopped error
	call := func(_ context.Context, a resilience.Attempt) (result resilience.Result) {
		value, err := e.attempt(sobek.Undefined(), e.info(a))
		if err != nil {
			result, err = e.failed(err)
		} else if promised(value) {
			p.instance.typeError("policy.execute: the function returned a promise, so its outcome is not known yet: use policy.executeAsync")
		} else {
			result, err = e.judge(value)
		}
		if err != nil {
			stopped = err
		}
		return result
	}
	report, record := p.do(resilience.Request{Call: call, Key: e.key()}, e.tags)
	if stopped != nil {
		panic(stopped)
	}
	return p.outcome(report, record)
}

// promised says whether a value is a promise.
func promised(value sobek.Value) bool {
	o, ok := value.(*sobek.Object)
	return ok && o.ExportType() == reflect.TypeFor[*sobek.Promise]()
}

// classify is what came of an attempt by what its function returned: a
// response of k6/http by its status, anything else is OK.
func (e *execution) classify(value sobek.Value) (resilience.Result, error) {
	result := resilience.Result{Value: value}
	o, ok := value.(*sobek.Object)
	if !ok {
		return result, nil
	}
	if thrown := e.policy.instance.host.Runtime().Try(func() { // a property may be a getter that throws
		status, ok := numeric(o.Get("status"))
		if !ok {
			return
		}
		if status == 0 {
			result.Outcome = noResponse(o)
			if text := o.Get("error"); !isNothing(text) {
				result.Err = errors.New(text.String())
			}
			return
		}
		if result.Outcome = httpcall.ClassifyStatus(int(status)); result.Outcome == resilience.OK {
			return
		}
		result.Err = &httpcall.StatusError{Status: int(status)}
		if headers, ok := o.Get("headers").(*sobek.Object); ok {
			if value := headers.Get("Retry-After"); !isNothing(value) {
				result.RetryAfter = httpcall.RetryAfter(http.Header{"Retry-After": {value.String()}}, time.Now())
			}
		}
	}); thrown != nil {
		return e.failed(thrown)
	}
	return result, nil
}

// noResponse is why a response of k6/http has the status 0, by its error code.
func noResponse(response *sobek.Object) resilience.Outcome {
	switch code, _ := numeric(response.Get("error_code")); code {
	case 1050:
		return resilience.Timeout
	case 1220:
		return resilience.Reset
	}
	return resilience.Connect
}

// numeric is a whole number; false for all else.
func numeric(v sobek.Value) (int64, bool) {
	if isNothing(v) {
		return 0, false
	}
	n, ok := v.Export().(int64)
	return n, ok
}
