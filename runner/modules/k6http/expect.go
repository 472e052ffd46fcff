package k6http

import (
	"fmt"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// statuses says which statuses are expected; nil means that none is judged.
type statuses interface{ match(status int) bool }

// expected are ranges of statuses, both ends included.
type expected [][2]int

func (e expected) match(status int) bool {
	for _, r := range e {
		if status >= r[0] && status <= r[1] {
			return true
		}
	}
	return false
}

// expectedStatuses is http.expectedStatuses(200, {min: 300, max: 399}, …).
func (c *client) expectedStatuses(call sobek.FunctionCall) sobek.Value {
	if len(call.Arguments) == 0 {
		modules.Throw(c.rt, "expectedStatuses() needs at least one status or {min, max}")
	}
	var e expected
	for i, arg := range call.Arguments {
		if o, ok := arg.(*sobek.Object); ok {
			e = append(e, [2]int{c.status(i, o.Get("min")), c.status(i, o.Get("max"))})
		} else {
			e = append(e, [2]int{c.status(i, arg), c.status(i, arg)})
		}
	}
	return c.rt.ToValue(&ranges{e})
}

func (c *client) status(i int, v sobek.Value) int {
	if v != nil {
		if n, ok := v.Export().(int64); ok {
			return int(n)
		}
	}
	modules.Throw(c.rt, "expectedStatuses(): argument %d is or holds %s, want a whole number or {min, max} of such", i+1, came(v))
	return 0
}

// ranges carries an expectation through JS.
type ranges struct{ of expected }

func (c *client) setResponseCallback(call sobek.FunctionCall) sobek.Value {
	e, err := callback(call.Argument(0))
	if err != nil {
		modules.Throw(c.rt, "setResponseCallback(): %s", err)
	}
	c.expect = e
	return sobek.Undefined()
}

// callback is the expectation in a JS value; nullish means that no answer is
// judged.
func callback(v sobek.Value) (statuses, error) {
	if modules.IsNullish(v) {
		return nil, nil
	}
	if r, ok := v.Export().(*ranges); ok {
		return r.of, nil
	}
	return nil, fmt.Errorf("the response callback is %s, want null or what http.expectedStatuses() returns", came(v))
}
