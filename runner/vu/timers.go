package vu

import (
	"math"
	"time"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// timers are setTimeout and its like. They live on the VU's goroutine.
type timers struct {
	loop *loop
	rt   *sobek.Runtime
	last int64
	live map[int64]*timer
}

type timer struct {
	t    *time.Timer
	done func(func() error)
}

func (t *timers) install() error {
	for name, f := range map[string]func(sobek.FunctionCall) sobek.Value{
		"setTimeout":    func(c sobek.FunctionCall) sobek.Value { return t.set("setTimeout", c, false) },
		"setInterval":   func(c sobek.FunctionCall) sobek.Value { return t.set("setInterval", c, true) },
		"clearTimeout":  t.clear,
		"clearInterval": t.clear,
	} {
		if err := t.rt.Set(name, f); err != nil {
			return err
		}
	}
	return nil
}

func (t *timers) set(name string, c sobek.FunctionCall, repeat bool) sobek.Value {
	fn, ok := sobek.AssertFunction(c.Argument(0))
	if !ok {
		modules.Throw(t.rt, "%s needs a function, not %q", name, c.Argument(0).String())
	}
	ms := c.Argument(1).ToFloat()
	if math.IsNaN(ms) || ms < 0 {
		ms = 0
	}
	delay := time.Duration(math.Min(ms*float64(time.Millisecond), math.MaxInt64/2))
	if repeat && delay < time.Millisecond {
		delay = time.Millisecond
	}
	var args []sobek.Value
	if len(c.Arguments) > 2 {
		args = append(args, c.Arguments[2:]...)
	}
	t.last++
	id := t.last
	t.arm(id, delay, repeat, func() error {
		_, err := fn(sobek.Undefined(), args...)
		return err
	})
	return t.rt.ToValue(id)
}

func (t *timers) arm(id int64, delay time.Duration, repeat bool, call func() error) {
	done := t.loop.reserve()
	task := func() error {
		if _, ok := t.live[id]; !ok {
			return nil // cleared while it was queued
		}
		delete(t.live, id)
		if repeat {
			t.arm(id, delay, repeat, call)
		}
		return call()
	}
	t.live[id] = &timer{done: done, t: time.AfterFunc(delay, func() { done(task) })}
}

func (t *timers) clear(c sobek.FunctionCall) sobek.Value {
	t.drop(c.Argument(0).ToInteger())
	return sobek.Undefined()
}

func (t *timers) drop(id int64) {
	if live, ok := t.live[id]; ok {
		delete(t.live, id)
		live.t.Stop()
		live.done(func() error { return nil })
	}
}

// dropAll ends all timers and gives their places on the loop back.
func (t *timers) dropAll() {
	for id := range t.live {
		t.drop(id)
	}
}
