package vu

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// timers are setTimeout and its like. They live on the VU's goroutine. Calls
// come by their time, and those of one time in the order in which they were
// asked for.
type timers struct {
	loop  *loop
	rt    *sobek.Runtime
	last  int64
	queue []*timer // in the order in which they come
	// What waits for the first of the queue, and holds a place on the loop;
	// nil when nothing waits.
	alarm *alarm
}

type timer struct {
	id     int64
	at     time.Time
	repeat time.Duration // 0 for once
	call   func() error
}

type alarm struct {
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
	var args []sobek.Value
	if len(c.Arguments) > 2 {
		args = append(args, c.Arguments[2:]...)
	}
	t.last++
	next := &timer{id: t.last, at: time.Now().Add(delay), call: func() error {
		_, err := fn(t.rt.GlobalObject(), args...)
		return err
	}}
	if repeat {
		next.repeat = max(delay, time.Millisecond)
	}
	t.add(next)
	t.arm()
	return t.rt.ToValue(next.id)
}

func (t *timers) add(next *timer) {
	i, _ := slices.BinarySearchFunc(t.queue, next, func(a, b *timer) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	})
	t.queue = slices.Insert(t.queue, i, next)
}

// arm sets the alarm to the first of the queue.
func (t *timers) arm() {
	if t.alarm != nil {
		if !t.alarm.t.Stop() {
			return // it has gone off, and its task arms again
		}
		if len(t.queue) == 0 {
			t.alarm.done(func() error { return nil })
			t.alarm = nil
			return
		}
		t.alarm.t.Reset(time.Until(t.queue[0].at))
		return
	}
	if len(t.queue) == 0 {
		return
	}
	a := &alarm{done: t.loop.reserve()}
	task := func() error { return t.fire(a) }
	a.t = time.AfterFunc(time.Until(t.queue[0].at), func() { a.done(task) })
	t.alarm = a
}

// fire calls the first of the queue if its time has come.
func (t *timers) fire(a *alarm) error {
	if t.alarm != a {
		return nil // all timers were dropped while it was queued
	}
	t.alarm = nil
	defer t.arm()
	if len(t.queue) == 0 || time.Now().Before(t.queue[0].at) {
		return nil
	}
	first := t.queue[0]
	if first.repeat == 0 {
		t.queue = t.queue[1:]
		return first.call()
	}
	err := first.call()
	if t.drop(first.id) { // it has not cleared itself
		first.at = time.Now().Add(first.repeat)
		t.add(first)
	}
	return err
}

func (t *timers) clear(c sobek.FunctionCall) sobek.Value {
	if t.drop(c.Argument(0).ToInteger()) {
		t.arm()
	}
	return sobek.Undefined()
}

func (t *timers) drop(id int64) (found bool) {
	i := slices.IndexFunc(t.queue, func(q *timer) bool { return q.id == id })
	if i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
	}
	return i >= 0
}

// dropAll ends all timers and gives their place on the loop back.
func (t *timers) dropAll() {
	t.queue = nil
	if t.alarm != nil {
		if t.alarm.t.Stop() {
			t.alarm.done(func() error { return nil })
		}
		t.alarm = nil
	}
}
