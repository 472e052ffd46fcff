package modules

import (
	"fmt"
	"slices"
	"sync"

	"github.com/grafana/sobek"
)

// cjsRecord is a CommonJS module, as sobek's linker sees it: a source that
// neither imports nor exports. Its names are known once it has run.
type cjsRecord struct {
	name    string
	program *sobek.Program // a function of module and exports

	mu      sync.Mutex
	ran     bool
	names   []string
	waiting []func([]string)
}

var _ sobek.CyclicModuleRecord = (*cjsRecord)(nil)

func (r *cjsRecord) Link() error                  { return nil }
func (r *cjsRecord) InitializeEnvironment() error { return nil }
func (r *cjsRecord) RequestedModules() []string   { return nil }

// Evaluate is not called for a cyclic module: Instantiate and ExecuteModule are.
func (r *cjsRecord) Evaluate(rt *sobek.Runtime) *sobek.Promise {
	return rt.CyclicModuleRecordEvaluate(r, nil)
}

// GetExportedNames gives the names when they are known. `export *` of another
// module cannot wait for that and has none of them, though each can be
// imported through it.
func (r *cjsRecord) GetExportedNames(callback func([]string), through ...sobek.ModuleRecord) bool {
	if len(through) > 0 {
		callback(nil)
		return true
	}
	r.mu.Lock()
	if !r.ran {
		r.waiting = append(r.waiting, callback)
		r.mu.Unlock()
		return false
	}
	names := r.names
	r.mu.Unlock()
	callback(names)
	return true
}

// ResolveExport finds any name: one that is not there is undefined.
func (r *cjsRecord) ResolveExport(name string, _ ...sobek.ResolveSetElement) (*sobek.ResolvedBinding, bool) {
	return &sobek.ResolvedBinding{Module: r, BindingName: name}, false
}

func (r *cjsRecord) Instantiate(*sobek.Runtime) (sobek.CyclicModuleInstance, error) {
	return &cjsInstance{record: r}, nil
}

// done notes the names that the first run has exported.
func (r *cjsRecord) done(names []string) {
	r.mu.Lock()
	if r.ran {
		r.mu.Unlock()
		return
	}
	r.ran, r.names = true, names
	waiting := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	for _, callback := range waiting {
		callback(names)
	}
}

type cjsInstance struct {
	record *cjsRecord
	module *sobek.Object
}

func (i *cjsInstance) HasTLA() bool { return false }

func (i *cjsInstance) ExecuteModule(rt *sobek.Runtime, _, _ func(any) error) (sobek.CyclicModuleInstance, error) {
	v, err := rt.RunProgram(i.record.program)
	if err != nil {
		return i, err
	}
	fn, ok := sobek.AssertFunction(v)
	if !ok {
		return i, fmt.Errorf("%s: unbalanced brackets", i.record.name)
	}
	i.module = rt.NewObject()
	empty := rt.NewObject()
	if err := i.module.Set("exports", empty); err != nil {
		return i, err
	}
	if _, err := fn(empty, i.module, empty); err != nil {
		return i, err
	}
	exports := i.exports()
	if IsNullish(exports) {
		return i, fmt.Errorf("%s: module.exports is %s, want an object or a function", i.record.name, Text(exports))
	}
	names := exports.ToObject(rt).Keys()
	if !slices.Contains(names, "default") {
		names = append(names, "default")
	}
	i.record.done(names)
	return i, nil
}

// GetBindingValue is an export; the default one is all of them unless the
// module says otherwise.
func (i *cjsInstance) GetBindingValue(name string) sobek.Value {
	if i.module == nil { // in a cycle: it has not run yet
		return sobek.Undefined()
	}
	exports := i.exports()
	if o, ok := exports.(*sobek.Object); ok {
		if v := o.Get(name); v != nil {
			return v
		}
	}
	if name == "default" {
		return exports
	}
	return sobek.Undefined()
}

// exports is module.exports, complete or not.
func (i *cjsInstance) exports() sobek.Value {
	if i.module == nil {
		return sobek.Undefined()
	}
	return i.module.Get("exports")
}
