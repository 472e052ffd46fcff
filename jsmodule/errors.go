package jsmodule

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/httpcall"
)

// typeError throws a JavaScript TypeError.
func (i *Instance) typeError(format string, args ...any) {
	panic(i.host.Runtime().NewTypeError("%s", fmt.Sprintf(format, args...)))
}

// newError is a JavaScript Error whose name and message are seen by
// JSON.stringify too.
func (i *Instance) newError(name, message string) *sobek.Object {
	o, err := i.host.Runtime().New(i.errorClass, i.host.Runtime().ToValue(message))
	if err != nil {
		panic(err) // the class is the runtime's own
	}
	define(i.host.Runtime(), o, "message", message)
	define(i.host.Runtime(), o, "name", name)
	return o
}

// cause is why a result is no success, as a script sees it.
func (i *Instance) cause(r resilience.Result, attempts int) *sobek.Object {
	message := r.Err.Error()
	var thrown *thrownError
	own := errors.As(r.Err, &thrown)
	if direct, ok := r.Err.(*thrownError); ok {
		message = direct.message
	}
	e := i.newError(errorName(r), message)
	set(e, "code", r.Outcome.String())
	set(e, "attempts", attempts)
	if own && thrown.value != nil {
		if err := e.DefineDataProperty("cause", thrown.value, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE); err != nil {
			panic(err)
		}
	}
	return e
}

// errorName is the class of a result's error as a script sees it.
func errorName(r resilience.Result) string {
	var thrown *thrownError
	var status *httpcall.StatusError
	switch {
	case r.Outcome == resilience.Timeout:
		return "TimeoutError"
	case r.Outcome == resilience.Cancelled:
		return "AbortError"
	case r.Outcome == resilience.Connect, r.Outcome == resilience.Reset:
		return "NetworkError"
	case r.Outcome.Rejected():
		return "RejectedError"
	case errors.As(r.Err, &status):
		return "StatusError"
	case errors.As(r.Err, &thrown):
		return thrown.name
	}
	return "Error"
}

// thrownError is what a script's function threw. Its text is taken on the VU's
// goroutine: the value is of its runtime, and an error is read on others too.
type thrownError struct {
	name, message string
	value         sobek.Value // nil: no script threw it
}

// Error is the text that String(error) has in the script.
func (e *thrownError) Error() string { return e.name + ": " + e.message }

// thrown takes the text of what a call into the script came back with.
func (i *Instance) thrown(err error) *thrownError {
	var exception *sobek.Exception
	if !errors.As(err, &exception) {
		return &thrownError{name: "Error", message: err.Error()}
	}
	return i.rejected(exception.Value())
}

// rejected is the same of a promise's reason.
func (i *Instance) rejected(value sobek.Value) *thrownError {
	t := &thrownError{name: "Error", value: value}
	if e := i.host.Runtime().Try(func() {
		o, ok := value.(*sobek.Object)
		if !ok {
			t.message = value.String()
			return
		}
		if name := o.Get("name"); !isNothing(name) {
			t.name = name.String()
		}
		if message := o.Get("message"); !isNothing(message) {
			t.message = message.String()
		} else {
			t.message = o.String()
		}
	}); e != nil {
		t.message = "what was thrown has no text"
	}
	return t
}

func isNothing(v sobek.Value) bool { return v == nil || sobek.IsUndefined(v) || sobek.IsNull(v) }

// exported is v as Go has it; a symbol stays one, and is not taken for its text.
func exported(v sobek.Value) any {
	if symbol, ok := v.(*sobek.Symbol); ok {
		return symbol
	}
	return v.Export()
}

// describe is a value, of JavaScript or exported from it, as an error tells
// what came.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case *sobek.Symbol:
		return "a symbol"
	case sobek.Value:
		if sobek.IsUndefined(v) {
			return "undefined"
		}
		return describe(v.Export())
	case string:
		return fmt.Sprintf("the string %q", v)
	case bool:
		return fmt.Sprintf("the boolean %v", v)
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case []any:
		return "an array"
	case *sobek.Promise:
		return "a promise"
	case time.Time:
		return "a date"
	case func(sobek.FunctionCall) sobek.Value, func(sobek.ConstructorCall) *sobek.Object:
		return "a function"
	}
	if reflect.TypeOf(value).Kind() == reflect.Func {
		return "a function"
	}
	return "an object"
}
