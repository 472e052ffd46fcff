package jsmodule

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/httpcall"
)

// outcome is what a script gets of a request.
func (p *jsPolicy) outcome(report resilience.Report, record *recorder) *sobek.Object {
	rt := p.instance.host.Runtime()
	o := rt.NewObject()
	set(o, "ok", report.End == resilience.Success)
	set(o, "status", 0)
	set(o, "response", sobek.Null())
	set(o, "result", sobek.Undefined())
	set(o, "attempts", report.Attempts)
	set(o, "downstreamCalls", report.Calls)
	set(o, "timeouts", report.Timeouts)
	set(o, "rejectedBy", sobek.Null())
	if report.Outcome.Rejected() {
		set(o, "rejectedBy", guardOf(report.Outcome))
	}
	set(o, "degraded", report.End == resilience.Degraded)
	set(o, "waitedMs", milliseconds(report.Waited))
	set(o, "durationMs", milliseconds(report.Duration))
	set(o, "attemptMs", rt.NewArray(record.attemptMs...))
	set(o, "error", sobek.Null())
	if report.Outcome != resilience.OK {
		e := rt.NewObject()
		set(e, "name", errorName(report.Err))
		set(e, "code", report.Outcome.String())
		set(e, "message", report.Err.Error())
		set(o, "error", e)
	}
	return o
}

// guardOf is the guard behind a refusal.
func guardOf(o resilience.Outcome) string {
	if o == resilience.BulkheadFull {
		return "bulkhead"
	}
	return "breaker"
}

// errorName is the class of an error as a script sees it.
func errorName(err error) string {
	var (
		thrown      *sobek.Exception
		interrupted *resilience.InterruptedError
		timeout     *resilience.TimeoutError
		rejected    *resilience.RejectedError
		status      *httpcall.StatusError
	)
	switch {
	case errors.As(err, &interrupted):
		return "InterruptedError"
	case errors.As(err, &timeout):
		return "TimeoutError"
	case errors.As(err, &rejected):
		return "RejectedError"
	case errors.As(err, &status):
		return "StatusError"
	case errors.As(err, &thrown):
		if o, ok := thrown.Value().(*sobek.Object); ok && !isNothing(o.Get("name")) {
			return o.Get("name").String()
		}
	}
	return "Error"
}

// response is an answer in the shape of a response of k6/http.
func (i *Instance) response(r *httpcall.Response) *sobek.Object {
	rt := i.host.Runtime()
	o := rt.NewObject()
	set(o, "status", r.Status)
	set(o, "status_text", r.StatusText)
	set(o, "proto", r.Proto)
	set(o, "url", r.URL)
	set(o, "body", string(r.Body))
	headers := rt.NewObject()
	for name, values := range r.Header {
		set(headers, name, strings.Join(values, ", "))
	}
	set(o, "headers", headers)
	set(o, "json", func(sobek.FunctionCall) sobek.Value {
		var tree any
		if err := json.Unmarshal(r.Body, &tree); err != nil {
			panic(rt.NewGoError(fmt.Errorf("the body is no JSON: %w", err)))
		}
		return rt.ToValue(tree)
	})
	return o
}

// set sets a property of an object that this module made, which cannot fail.
func set(o *sobek.Object, name string, value any) {
	if err := o.Set(name, value); err != nil {
		panic(err)
	}
}

func isNothing(v sobek.Value) bool { return v == nil || sobek.IsUndefined(v) || sobek.IsNull(v) }

// describe is a value as an error tells what came.
func describe(v sobek.Value) string {
	switch {
	case v == nil || sobek.IsUndefined(v):
		return "undefined"
	case sobek.IsNull(v):
		return "null"
	}
	if o, ok := v.(*sobek.Object); ok {
		return "an object of class " + o.ClassName()
	}
	switch value := v.Export().(type) {
	case string:
		return fmt.Sprintf("the string %q", value)
	case bool:
		return fmt.Sprintf("the boolean %v", value)
	case int64, float64:
		return fmt.Sprintf("the number %v", value)
	}
	return v.String()
}
