// Package k6data is the module `k6/data`: arrays that all virtual users share.
package k6data

import (
	"errors"
	"sync"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// New returns what makes the module for the virtual users of one run.
func New() modules.Factory {
	arrays := &store{entries: make(map[string]*entry)}
	return func(vu modules.VU) (modules.Exports, error) {
		m := &module{vu: vu, arrays: arrays}
		return modules.Exports{Named: map[string]any{"SharedArray": m.sharedArray}}, nil
	}
}

type module struct {
	vu     modules.VU
	arrays *store
}

// sharedArray is the constructor `new SharedArray(name, function)`.
func (m *module) sharedArray(c sobek.ConstructorCall) *sobek.Object {
	rt := m.vu.Runtime()
	if !m.vu.InitContext() {
		modules.Throw(rt, "new SharedArray() works in the init context only (the script's top level)")
	}
	name := c.Argument(0).String()
	if modules.IsNullish(c.Argument(0)) || name == "" {
		modules.Throw(rt, "new SharedArray() needs a name as its first argument")
	}
	fn, ok := sobek.AssertFunction(c.Argument(1))
	switch {
	case !ok:
		modules.Throw(rt, "new SharedArray(%q) needs a function as its second argument, not %q", name, modules.Text(c.Argument(1)))
	case modules.IsAsync(c.Argument(1)):
		modules.Throw(rt, "new SharedArray(%q) does not take an async function", name)
	}
	elements, err := m.arrays.get(m.vu, name, func() ([]string, error) { return build(rt, fn) })
	if err != nil {
		var thrown *sobek.Exception
		if errors.As(err, &thrown) {
			modules.Rethrow(rt, thrown)
		}
		modules.Throw(rt, "new SharedArray(%q): %s", name, err)
	}
	return newArray(rt, elements)
}

// build makes the elements' JSON.
func build(rt *sobek.Runtime, fn sobek.Callable) ([]string, error) {
	v, err := fn(sobek.Undefined())
	if err != nil {
		return nil, err
	}
	list, ok := v.(*sobek.Object)
	if !ok || list.ClassName() != "Array" {
		return nil, errors.New("its function must return an array, not " + modules.Text(v))
	}
	stringify, _ := sobek.AssertFunction(rt.GlobalObject().Get("JSON").ToObject(rt).Get("stringify"))
	elements := make([]string, 0, list.Get("length").ToInteger())
	for i := range cap(elements) {
		text, err := stringify(sobek.Undefined(), list.Get(rt.ToValue(i).String()))
		if err != nil {
			return nil, err
		}
		if modules.IsNullish(text) { // a function, as JSON has it in a list
			text = rt.ToValue("null")
		}
		elements = append(elements, text.String())
	}
	return elements, nil
}

// store has the arrays of a run by name.
type store struct {
	mu      sync.Mutex
	entries map[string]*entry
}

// entry is an array, complete when done is closed.
type entry struct {
	owner    modules.VU
	done     chan struct{}
	ok       bool
	elements []string
}

// get is the array of a name, which is made by the first who asks. Others wait.
// After a failure the next makes it again.
func (s *store) get(vu modules.VU, name string, build func() ([]string, error)) ([]string, error) {
	for {
		s.mu.Lock()
		e, ok := s.entries[name]
		if !ok {
			e = &entry{owner: vu, done: make(chan struct{})}
			s.entries[name] = e
		}
		s.mu.Unlock()
		if !ok {
			return s.fill(e, name, build)
		}
		select {
		case <-e.done:
		default:
			if e.owner == vu {
				return nil, errors.New("its function needs this very array")
			}
			select {
			case <-e.done:
			case <-vu.Context().Done():
				return nil, vu.Context().Err()
			}
		}
		if e.ok {
			return e.elements, nil
		}
	}
}

func (s *store) fill(e *entry, name string, build func() ([]string, error)) (elements []string, err error) {
	defer close(e.done)
	defer func() {
		if !e.ok {
			s.mu.Lock()
			delete(s.entries, name)
			s.mu.Unlock()
		}
	}()
	e.elements, err = build()
	e.ok = err == nil
	return e.elements, err
}
