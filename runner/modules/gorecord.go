package modules

import (
	"fmt"
	"sort"

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

var _ sobek.ModuleRecord = (*goRecord)(nil)

// Link has nothing to do: a Go module imports nothing.
func (r *goRecord) Link() error { return nil }

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
	p, resolve, reject := rt.NewPromise()
	inst, err := r.instance(rt)
	if err != nil {
		_ = reject(err)
	} else {
		_ = resolve(inst)
	}
	return p
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
	} else if _, ok := inst.values["default"]; !ok {
		o := rt.NewObject()
		names := make([]string, 0, len(inst.values))
		for name := range inst.values {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
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
			r.sorted = append(r.sorted, name)
		}
		sort.Strings(r.sorted)
	}
	return inst, nil
}

type goInstance struct{ values map[string]sobek.Value }

func (i *goInstance) GetBindingValue(name string) sobek.Value { return i.values[name] }
