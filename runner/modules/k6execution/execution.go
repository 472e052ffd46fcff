// Package k6execution is the module k6/execution: where in the run the script
// is.
package k6execution

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/modules"
)

// module is one virtual user's instance.
type module struct {
	vu      modules.VU
	options sobek.Value // frozen, once it was asked for
}

// New is the module's factory.
func New(vu modules.VU) (modules.Exports, error) {
	m := &module{vu: vu}
	o, err := m.object(map[string]func() any{
		"scenario": m.part("scenario", m.scenario), "instance": m.part("instance", m.instance),
		"test": func() any { return m.must(m.test()) }, "vu": m.part("VU", m.user),
	})
	return modules.Exports{Default: o}, err
}

// object is an object whose properties are read anew each time.
func (m *module) object(properties map[string]func() any) (*sobek.Object, error) {
	rt := m.vu.Runtime()
	o := rt.NewObject()
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		get := properties[name]
		err := o.DefineAccessorProperty(name, rt.ToValue(func() sobek.Value { return rt.ToValue(get()) }), nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (m *module) must(o *sobek.Object, err error) *sobek.Object {
	if err != nil {
		modules.Throw(m.vu.Runtime(), "k6/execution: %s", err)
	}
	return o
}

// part is an object that the init context does not have.
func (m *module) part(name string, object func() (*sobek.Object, error)) func() any {
	return func() any {
		if m.vu.InitContext() {
			modules.Throw(m.vu.Runtime(), "getting %s information in the init context is not supported", name)
		}
		return m.must(object())
	}
}

func (m *module) scenario() (*sobek.Object, error) {
	in := func(get func(s *executor.Scenario, p modules.Place) any) func() any {
		return func() any {
			p := m.vu.Place()
			if p.Scenario == nil {
				modules.Throw(m.vu.Runtime(), "getting scenario information outside of a scenario's iterations is not supported")
			}
			return get(p.Scenario, p)
		}
	}
	return m.object(map[string]func() any{
		"name":                in(func(s *executor.Scenario, _ modules.Place) any { return s.Name }),
		"executor":            in(func(s *executor.Scenario, _ modules.Place) any { return s.Executor.Type() }),
		"startTime":           in(func(s *executor.Scenario, _ modules.Place) any { return s.Begun().UnixMilli() }),
		"progress":            in(func(s *executor.Scenario, _ modules.Place) any { return s.Progress() }),
		"iterationInInstance": in(func(_ *executor.Scenario, p modules.Place) any { return p.ScenarioInstance }),
		"iterationInTest":     in(func(_ *executor.Scenario, p modules.Place) any { return p.ScenarioTest }),
	})
}

func (m *module) instance() (*sobek.Object, error) {
	in := func(get func(s modules.RunStatus) any) func() any {
		return func() any {
			status, _ := m.vu.Run().Status()
			return get(status)
		}
	}
	return m.object(map[string]func() any{
		"currentTestRunDuration": in(func(s modules.RunStatus) any { return float64(s.Duration) / float64(time.Millisecond) }),
		"iterationsCompleted":    in(func(s modules.RunStatus) any { return s.Iterations }),
		"iterationsInterrupted":  in(func(s modules.RunStatus) any { return s.Interrupted }),
		"vusActive":              in(func(s modules.RunStatus) any { return s.Active }),
		"vusInitialized":         in(func(s modules.RunStatus) any { return s.VUs }),
	})
}

func (m *module) test() (*sobek.Object, error) {
	return m.object(map[string]func() any{
		"abort": func() any { return m.abort },
		"fail":  func() any { return m.fail },
		"options": func() any {
			if m.vu.InitContext() {
				modules.Throw(m.vu.Runtime(), "getting test options in the init context is not supported")
			}
			if m.options == nil {
				var err error
				if m.options, err = m.frozenOptions(); err != nil {
					modules.Throw(m.vu.Runtime(), "k6/execution: %s", err)
				}
			}
			return m.options
		},
	})
}

// reason is the text of an optional argument.
func reason(call sobek.FunctionCall) string {
	if modules.IsNullish(call.Argument(0)) {
		return ""
	}
	return call.Argument(0).String()
}

// abort ends the run: no JS runs after it, and who called the script sees the
// error.
func (m *module) abort(call sobek.FunctionCall) sobek.Value {
	m.vu.Runtime().Interrupt(&modules.Aborted{Reason: reason(call)})
	return sobek.Undefined()
}

// fail lets the run go on, and fails it in the end.
func (m *module) fail(call sobek.FunctionCall) sobek.Value {
	if m.vu.InitContext() {
		modules.Throw(m.vu.Runtime(), "test.fail() does not work in the init context")
	}
	text := "test marked as failed"
	if why := reason(call); why != "" {
		text += ": " + why
	}
	m.vu.Logger().Error(text)
	m.vu.Run().Fail()
	return sobek.Undefined()
}

func (m *module) frozenOptions() (sobek.Value, error) {
	rt := m.vu.Runtime()
	text, err := m.vu.Run().Options()
	if err != nil {
		return nil, err
	}
	parse, _ := sobek.AssertFunction(rt.GlobalObject().Get("JSON").ToObject(rt).Get("parse"))
	o, err := parse(sobek.Undefined(), rt.ToValue(string(text)))
	if err != nil {
		return nil, err
	}
	freeze, _ := sobek.AssertFunction(rt.GlobalObject().Get("Object").ToObject(rt).Get("freeze"))
	return o, freezeDeep(rt, freeze, o)
}

func freezeDeep(rt *sobek.Runtime, freeze sobek.Callable, v sobek.Value) error {
	o, ok := v.(*sobek.Object)
	if !ok {
		return nil
	}
	for _, key := range o.Keys() {
		if err := freezeDeep(rt, freeze, o.Get(key)); err != nil {
			return err
		}
	}
	_, err := freeze(sobek.Undefined(), o)
	return err
}

func (m *module) user() (*sobek.Object, error) {
	rt := m.vu.Runtime()
	tags := rt.NewDynamicObject(&tagsObject{m.vu})
	metrics, err := m.object(map[string]func() any{
		"tags": func() any { return tags },
		"metadata": func() any {
			modules.Throw(rt, "vu.metrics.metadata is not in the built-in runner, whose samples have tags only; use a k6 build (see README)")
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	return m.object(map[string]func() any{
		"idInInstance":        func() any { return m.vu.ID() },
		"idInTest":            func() any { return m.vu.Place().IDInTest },
		"iterationInInstance": func() any { return m.vu.Iteration() },
		"iterationInScenario": func() any { return m.vu.Place().IterationInScenario },
		"tags":                func() any { return tags },
		"metrics":             func() any { return metrics },
	})
}

// tagsObject is the tags of what the virtual user samples, as a JS object.
type tagsObject struct{ vu modules.VU }

func (o *tagsObject) Get(key string) sobek.Value {
	if value, ok := o.vu.Tags().Get(key); ok {
		return o.vu.Runtime().ToValue(value)
	}
	return nil
}

func (o *tagsObject) Set(key string, val sobek.Value) bool {
	switch v := val.Export().(type) {
	case string, bool, int64, float64:
		o.vu.SetTags(o.vu.Tags().With(key, val.String()))
	default:
		panic(o.vu.Runtime().NewTypeError(fmt.Sprintf("tag %q: only text, numbers and booleans can be a tag's value, not %s", key, describe(v))))
	}
	return true
}

func describe(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	return string(text)
}

func (o *tagsObject) Has(key string) bool {
	_, ok := o.vu.Tags().Get(key)
	return ok
}

func (o *tagsObject) Delete(key string) bool {
	o.vu.SetTags(o.vu.Tags().Without(key))
	return true
}

func (o *tagsObject) Keys() []string {
	tags := o.vu.Tags().Tags()
	keys := make([]string, len(tags))
	for i, t := range tags {
		keys[i] = t.Key
	}
	return keys
}
