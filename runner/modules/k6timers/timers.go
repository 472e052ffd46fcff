// Package k6timers is the module `k6/timers`: the global timers by name.
package k6timers

import "github.com/retrylab/retrylab/runner/modules"

// New makes the module for a virtual user.
func New(vu modules.VU) (modules.Exports, error) {
	named := make(map[string]any)
	for _, name := range []string{"setTimeout", "clearTimeout", "setInterval", "clearInterval"} {
		named[name] = vu.Runtime().GlobalObject().Get(name)
	}
	return modules.Exports{Named: named}, nil
}
