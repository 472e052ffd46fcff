package jsmodule

import (
	"encoding/json"
	"strings"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/httpcall"
	"github.com/tidwall/gjson"
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
	if guard := rejectedBy(report); guard != "" {
		set(o, "rejectedBy", guard)
	}
	set(o, "degraded", report.End == resilience.Degraded)
	set(o, "waitedMs", milliseconds(report.Waited))
	set(o, "durationMs", milliseconds(report.Duration))
	set(o, "attemptMs", rt.NewArray(record.attemptMs...))
	set(o, "error", sobek.Null())
	if report.Outcome != resilience.OK {
		set(o, "error", p.instance.cause(report.Result, report.Attempts))
	}
	p.answer(o, report)
	return o
}

// answer sets what a request came to: a response, a value, or nothing.
func (p *jsPolicy) answer(o *sobek.Object, report resilience.Report) {
	switch value := report.Value.(type) {
	case nil:
	case *httpcall.Response:
		if value != nil {
			set(o, "status", value.Status)
			set(o, "response", p.instance.response(value))
		}
	case sobek.Value:
		if isNothing(value) {
			return
		}
		set(o, "result", value)
		response, ok := value.(*sobek.Object)
		if !ok {
			return
		}
		var status sobek.Value // nothing where a getter throws
		if p.instance.host.Runtime().Try(func() { status = response.Get("status") }) == nil && !isNothing(status) {
			set(o, "status", status)
			set(o, "response", value)
		}
	default:
		set(o, "result", p.instance.own(value))
	}
}

// own is a copy of a value of this process in the VU's own runtime: the value
// itself is of all VUs, and of no script to change.
func (i *Instance) own(value any) sobek.Value {
	data, err := json.Marshal(value)
	if err != nil {
		i.typeError("a fallback's value must have a JSON form: %v", err)
	}
	return i.parse(data)
}

// rejectedBy is the guard that refused the last attempt, or the attempt after
// it; "" where none did.
func rejectedBy(report resilience.Report) string {
	switch report.Outcome {
	case resilience.BreakerOpen:
		return "breaker"
	case resilience.BulkheadFull:
		return "bulkhead"
	case resilience.RateLimited:
		return "rate-limit"
	case resilience.Throttled:
		return "throttle"
	case resilience.OK:
		return ""
	}
	if report.BudgetExhausted {
		return "budget"
	}
	return ""
}

// response is an answer with the fields that a response of k6/http has too:
// status, status_text, proto, url, body, headers, json(selector).
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
	set(o, "json", func(c sobek.FunctionCall) sobek.Value {
		if !gjson.ValidBytes(r.Body) {
			panic(i.newError("SyntaxError", "response.json: the body is no JSON"))
		}
		if isNothing(c.Argument(0)) {
			return i.parse(r.Body)
		}
		found := gjson.GetBytes(r.Body, c.Argument(0).String())
		if !found.Exists() {
			return sobek.Undefined()
		}
		return i.parse([]byte(found.Raw))
	})
	return o
}
