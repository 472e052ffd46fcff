package k6data

import (
	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// array is a shared array in one runtime. Elements are shared as JSON; each
// look at one gives a frozen copy.
type array struct {
	rt            *sobek.Runtime
	elements      []string
	parse, freeze sobek.Callable
}

var _ sobek.DynamicArray = (*array)(nil)

func newArray(rt *sobek.Runtime, elements []string) *sobek.Object {
	a := &array{rt: rt, elements: elements}
	a.parse, _ = sobek.AssertFunction(rt.GlobalObject().Get("JSON").ToObject(rt).Get("parse"))
	a.freeze, _ = sobek.AssertFunction(rt.GlobalObject().Get("Object").ToObject(rt).Get("freeze"))
	return rt.NewDynamicArray(a)
}

// Len is the number of elements.
func (a *array) Len() int { return len(a.elements) }

// Get is a copy of an element, frozen through and through.
func (a *array) Get(i int) sobek.Value {
	if i < 0 || i >= len(a.elements) {
		return sobek.Undefined()
	}
	v, err := a.parse(sobek.Undefined(), a.rt.ToValue(a.elements[i]))
	if err == nil {
		err = a.frozen(v)
	}
	if err != nil {
		modules.Rethrow(a.rt, err)
	}
	return v
}

// frozen freezes what JSON.parse made: a tree.
func (a *array) frozen(v sobek.Value) error {
	o, ok := v.(*sobek.Object)
	if !ok {
		return nil
	}
	if _, err := a.freeze(sobek.Undefined(), o); err != nil {
		return err
	}
	for _, key := range o.Keys() {
		if err := a.frozen(o.Get(key)); err != nil {
			return err
		}
	}
	return nil
}

// Set throws: the array cannot be changed.
func (a *array) Set(int, sobek.Value) bool { panic(a.immutable()) }

// SetLen throws: the array cannot be changed.
func (a *array) SetLen(int) bool { panic(a.immutable()) }

func (a *array) immutable() *sobek.Object {
	return a.rt.NewTypeError("a SharedArray cannot be changed")
}
