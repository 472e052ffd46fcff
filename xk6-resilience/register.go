// Package resilience is the k6 extension k6/x/resilience: retries, breakers,
// bulkheads, hedges, budgets and fallbacks for k6 scripts, and a server that
// fails in controlled ways.
//
// It only registers the module and shows it each VU; all else is in jsmodule.
package resilience

import (
	"github.com/retrylab/retrylab/jsmodule"
	"go.k6.io/k6/v2/js/modules"
)

func init() {
	modules.Register(jsmodule.ImportPath, New())
}

// Module is what the VUs of a k6 process share: policies by name, and servers.
type Module struct{ shared *jsmodule.Module }

// New returns a module that knows the built-in policies.
func New() *Module { return &Module{shared: jsmodule.New(nil)} }

// NewModuleInstance makes the module of one VU, in its init context. Where the
// script has metrics of the same names and other types, it throws.
func (m *Module) NewModuleInstance(vu modules.VU) modules.Instance {
	i, err := m.shared.NewInstance(host{vu})
	if err != nil {
		panic(vu.Runtime().NewGoError(err))
	}
	return &instance{modules.Exports{Named: i.Exports()}}
}

// instance is the module as one VU imports it.
type instance struct{ exports modules.Exports }

// Exports are the names that a script can import; the default export holds all
// of them. k6 asks each time that a script uses one of them, and must get the
// same class each time.
func (i *instance) Exports() modules.Exports { return i.exports }
