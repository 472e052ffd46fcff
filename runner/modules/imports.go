package modules

import (
	"errors"

	"github.com/grafana/sobek"
)

// installImports gives a runtime import() and import.meta.resolve.
func (l *Loader) installImports(vu VU) {
	rt := vu.Runtime()
	rt.SetImportModuleDynamically(func(referrer any, specifier sobek.Value, promise any) {
		var failure any // a JS value, or nil
		record, err := l.find(l.pathOf(referrer), specifier.String())
		if err == nil && !vu.InitContext() {
			err = errors.New("import() works in the init context only (the script's top level)")
		}
		if err != nil {
			failure = NewError(rt, err.Error())
		}
		rt.FinishLoadingImportModule(referrer, specifier, promise, record, failure)
	})
	rt.SetFinalImportMeta(func(meta *sobek.Object, m sobek.ModuleRecord) {
		_ = meta.Set("resolve", func(c sobek.FunctionCall) sobek.Value {
			file, err := resolvePath(l.pathOf(m), c.Argument(0).String())
			if err != nil {
				Throw(rt, "import.meta.resolve(%q): %s", c.Argument(0).String(), err)
			}
			if _, ok := library(file); !ok {
				file = "file://" + file
			}
			return rt.ToValue(file)
		})
	})
}

// Require is what require() in the file from gives: the exports of a module
// that is CommonJS, the default export of one written in Go that has no other,
// the namespace of any else.
func (l *Loader) Require(rt *sobek.Runtime, from, specifier string) (sobek.Value, error) {
	record, err := l.find(from, specifier)
	if err != nil {
		return nil, err
	}
	if err := record.Link(); err != nil {
		return nil, l.explain(err)
	}
	p := rt.CyclicModuleRecordEvaluate(record, l.resolve)
	if err := settled(rt, p); err != nil {
		return nil, l.explain(err)
	}
	switch instance := rt.GetModuleInstance(record).(type) {
	case *cjsInstance:
		return instance.exports(), nil
	case *goInstance:
		if instance.alone != nil {
			return instance.alone, nil
		}
	}
	return rt.NamespaceObjectFor(record), nil
}

// settled is why a promise was rejected. The caller handles it, so that it is
// not one that nobody handles.
func settled(rt *sobek.Runtime, p *sobek.Promise) error {
	o := rt.ToValue(p).ToObject(rt)
	then, _ := sobek.AssertFunction(o.Get("then"))
	nothing := rt.ToValue(func(sobek.FunctionCall) sobek.Value { return sobek.Undefined() })
	if _, err := then(o, nothing, nothing); err != nil {
		return err
	}
	if p.State() != sobek.PromiseStateRejected {
		return nil
	}
	if err, ok := p.Result().Export().(error); ok {
		return err
	}
	return errors.New(p.Result().String())
}
