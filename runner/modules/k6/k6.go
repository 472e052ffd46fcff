// Package k6 is the module `k6`: check, group, sleep, fail and randomSeed.
package k6

import (
	"math"
	"math/rand"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
)

// separator joins the names of nested groups; a name cannot contain it.
const separator = "::"

// New makes the module for a virtual user.
func New(vu modules.VU) (modules.Exports, error) {
	m := &module{vu: vu}
	return modules.Exports{Named: map[string]any{
		"check": m.check, "fail": m.fail, "group": m.group, "randomSeed": m.randomSeed, "sleep": m.sleep,
	}}, nil
}

type module struct{ vu modules.VU }

func (m *module) fail(c sobek.FunctionCall) sobek.Value {
	modules.Throw(m.vu.Runtime(), "%s", c.Argument(0).String())
	return nil
}

func (m *module) sleep(c sobek.FunctionCall) sobek.Value {
	secs := c.Argument(0).ToFloat()
	if !(secs > 0) {
		return sobek.Undefined()
	}
	t := time.NewTimer(time.Duration(math.Min(secs*float64(time.Second), math.MaxInt64/2)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-m.vu.Context().Done():
	}
	return sobek.Undefined()
}

func (m *module) randomSeed(c sobek.FunctionCall) sobek.Value {
	// The generator that k6 has, so that a seed gives the same numbers there.
	source := rand.New(rand.NewSource(c.Argument(0).ToInteger()))
	m.vu.Runtime().SetRandSource(source.Float64)
	return sobek.Undefined()
}

func (m *module) group(c sobek.FunctionCall) sobek.Value {
	rt := m.vu.Runtime()
	if m.vu.InitContext() {
		modules.Throw(rt, "group() does not work in the init context (the script's top level)")
	}
	name := c.Argument(0).String()
	if strings.Contains(name, separator) {
		modules.Throw(rt, "group(): the name %q must not contain %q", name, separator)
	}
	fn, ok := sobek.AssertFunction(c.Argument(1))
	if !ok {
		modules.Throw(rt, "group(%q) needs a function as its second argument", name)
	}
	if modules.IsAsync(c.Argument(1)) {
		modules.Throw(rt, "group(%q) does not take an async function: the group would end at its first await", name)
	}
	system := m.vu.Settings().SystemTags
	path, _ := m.vu.Tags().Get("group")
	m.vu.SetTags(system.Add(m.vu.Tags(), "group", path+separator+name))
	start := time.Now()
	ret, err := fn(sobek.Undefined())
	end := time.Now()
	m.vu.Push(m.vu.Context(), metrics.Sample{
		Metric: m.vu.Builtin().GroupDuration, Tags: m.vu.Tags(), Time: end.UnixNano(),
		Value: float64(end.Sub(start)) / float64(time.Millisecond),
	})
	m.vu.SetTags(system.Add(m.vu.Tags(), "group", path))
	if err != nil {
		modules.Rethrow(m.vu.Runtime(), err)
	}
	return ret
}

func (m *module) check(c sobek.FunctionCall) sobek.Value {
	rt := m.vu.Runtime()
	if m.vu.InitContext() {
		modules.Throw(rt, "check() does not work in the init context (the script's top level)")
	}
	val, list := c.Argument(0), c.Argument(1)
	if modules.IsNullish(list) {
		modules.Throw(rt, "check() needs an object of checks as its second argument")
	}
	tags, err := modules.AddTags(rt, m.vu.Tags(), c.Argument(2))
	if err != nil {
		modules.Throw(rt, "check(): %s", err)
	}
	at := time.Now().UnixNano()
	all := true
	checks := list.ToObject(rt)
	for _, name := range checks.Keys() {
		if strings.Contains(name, separator) {
			modules.Throw(rt, "check(): the name %q must not contain %q", name, separator)
		}
		got := checks.Get(name)
		var thrown error
		if fn, ok := sobek.AssertFunction(got); ok {
			if modules.IsAsync(got) {
				modules.Throw(rt, "check(): %q is an async function, and its promise would always pass", name)
			}
			got, thrown = fn(sobek.Undefined(), val)
		}
		value := 0.0
		if thrown == nil && got.ToBoolean() {
			value = 1
		} else {
			all = false
		}
		m.vu.Push(m.vu.Context(), metrics.Sample{
			Metric: m.vu.Builtin().Checks, Tags: m.vu.Settings().SystemTags.Add(tags, "check", name), Time: at, Value: value,
		})
		if thrown != nil {
			modules.Rethrow(rt, thrown)
		}
	}
	return rt.ToValue(all)
}
