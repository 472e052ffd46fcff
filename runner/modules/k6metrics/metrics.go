// Package k6metrics is the module `k6/metrics`: metrics of the script's own.
package k6metrics

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
)

// New makes the module for a virtual user.
func New(vu modules.VU) (modules.Exports, error) {
	m := &module{vu: vu}
	return modules.Exports{Named: map[string]any{
		"Counter": m.constructor(metrics.Counter),
		"Gauge":   m.constructor(metrics.Gauge),
		"Rate":    m.constructor(metrics.Rate),
		"Trend":   m.constructor(metrics.Trend),
	}}, nil
}

type module struct{ vu modules.VU }

func (m *module) constructor(kind metrics.Kind) func(sobek.ConstructorCall) *sobek.Object {
	return func(c sobek.ConstructorCall) *sobek.Object {
		rt := m.vu.Runtime()
		name := c.Argument(0).String()
		if !m.vu.InitContext() {
			modules.Throw(rt, "metric %q: metrics are made in the init context only (the script's top level)", name)
		}
		contains := metrics.Default
		if c.Argument(1).ToBoolean() {
			contains = metrics.Time
		}
		metric, err := m.vu.Registry().Register(name, kind, contains)
		if err != nil {
			modules.Throw(rt, "%s", err)
		}
		must := func(err error) {
			if err != nil {
				modules.Throw(rt, "metric %q: %s", name, err)
			}
		}
		must(c.This.DefineDataProperty("name", rt.ToValue(name), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_TRUE))
		must(c.This.Set("add", func(call sobek.FunctionCall) sobek.Value {
			return rt.ToValue(m.add(metric, call))
		}))
		return nil
	}
}

func (m *module) add(metric *metrics.Metric, c sobek.FunctionCall) bool {
	rt := m.vu.Runtime()
	if m.vu.InitContext() {
		modules.Throw(rt, "metric %q: add() does not work in the init context (the script's top level)", metric.Name)
	}
	value, err := number(c.Argument(0))
	if err != nil {
		if m.vu.Settings().Throw {
			modules.Throw(rt, "metric %q: %s", metric.Name, err)
		}
		message := fmt.Sprintf("metric %q: %s", metric.Name, err)
		m.vu.Warn(message, message)
		return false
	}
	tags, err := modules.AddTags(rt, m.vu.Tags(), c.Argument(1))
	if err != nil {
		modules.Throw(rt, "metric %q: %s", metric.Name, err)
	}
	m.vu.Push(m.vu.Context(), metrics.Sample{Metric: metric, Tags: tags, Value: value, Time: time.Now().UnixNano()})
	return true
}

// number is a sample's value: a number, or a boolean as 0 or 1.
func number(v sobek.Value) (float64, error) {
	if modules.IsNullish(v) {
		return 0, errors.New("add() needs a number or a boolean")
	}
	f := v.ToFloat()
	if f == 0 && v.ToBoolean() {
		f = 1
	}
	if math.IsNaN(f) {
		text := v.String()
		if r := []rune(text); len(r) > 100 {
			text = string(r[:100]) + "…"
		}
		return 0, fmt.Errorf("add() needs a number or a boolean, not %q", text)
	}
	return f, nil
}
