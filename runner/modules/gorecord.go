package modules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/grafana/sobek"
)

// goRecord is a module written in Go, as sobek's linker sees it: one for a
// run, with an instance in each runtime.
type goRecord struct {
	loader  *Loader
	name    string
	factory Factory
	names   map[string]struct{} // of the first instance; read only after that
	sorted  []string
}

var _ sobek.CyclicModuleRecord = (*goRecord)(nil)

// Link has nothing to do: a Go module imports nothing.
func (r *goRecord) Link() error                  { return nil }
func (r *goRecord) InitializeEnvironment() error { return nil }
func (r *goRecord) RequestedModules() []string   { return nil }

func (r *goRecord) GetExportedNames(callback func([]string), _ ...sobek.ModuleRecord) bool {
	callback(r.sorted)
	return true
}

func (r *goRecord) ResolveExport(name string, _ ...sobek.ResolveSetElement) (*sobek.ResolvedBinding, bool) {
	if _, ok := r.names[name]; !ok {
		r.loader.missed(r.name, name)
		return nil, false
	}
	return &sobek.ResolvedBinding{Module: r, BindingName: name}, false
}

// Evaluate hands out the runtime's instance, making it at first.
func (r *goRecord) Evaluate(rt *sobek.Runtime) *sobek.Promise {
	return rt.CyclicModuleRecordEvaluate(r, r.loader.resolve)
}

// Instantiate is the runtime's instance, made at first.
func (r *goRecord) Instantiate(rt *sobek.Runtime) (sobek.CyclicModuleInstance, error) {
	return r.instance(rt)
}

func (r *goRecord) instance(rt *sobek.Runtime) (*goInstance, error) {
	u := r.loader.user(rt)
	if u == nil {
		return nil, fmt.Errorf("import %s: the runtime has no virtual user", r.name)
	}
	if inst, ok := u.instances[r.name]; ok {
		return inst, nil
	}
	ex, err := r.factory(u.vu)
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", r.name, err)
	}
	inst := &goInstance{values: make(map[string]sobek.Value, len(ex.Named)+1)}
	for name, v := range ex.Named {
		inst.values[name] = rt.ToValue(v)
	}
	if ex.Default != nil {
		inst.values["default"] = rt.ToValue(ex.Default)
		if len(ex.Named) == 0 {
			inst.alone, _ = inst.values["default"].(*sobek.Object)
		}
	} else if _, ok := inst.values["default"]; !ok {
		o := rt.NewObject()
		for _, name := range slices.Sorted(maps.Keys(inst.values)) {
			if err := o.Set(name, inst.values[name]); err != nil {
				return nil, fmt.Errorf("import %s: %w", r.name, err)
			}
		}
		inst.values["default"] = o
	}
	u.instances[r.name] = inst
	if r.names == nil {
		r.names = make(map[string]struct{}, len(inst.values))
		for name := range inst.values {
			r.names[name] = struct{}{}
		}
		if inst.alone != nil {
			for _, name := range inst.alone.Keys() {
				r.names[name] = struct{}{}
			}
		}
		r.sorted = slices.Sorted(maps.Keys(r.names))
	}
	return inst, nil
}

// goInstance is an instance. Where the default export, an object, is the only
// one, its properties can be imported by name; they are read when they are used.
type goInstance struct {
	values map[string]sobek.Value
	alone  *sobek.Object // the default export; nil if there are others
}

func (i *goInstance) GetBindingValue(name string) sobek.Value {
	if v, ok := i.values[name]; ok || i.alone == nil {
		return v
	}
	return i.alone.Get(name)
}

func (i *goInstance) HasTLA() bool { return false }

func (i *goInstance) ExecuteModule(*sobek.Runtime, func(any) error, func(any) error) (sobek.CyclicModuleInstance, error) {
	return i, nil
}
