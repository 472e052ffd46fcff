// Package modules is what a module for scripts sees of k6, and k6 of it.
package modules

import (
	"context"
	"fmt"
	"strings"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
)

// Register makes a module known by the path that scripts import. It panics
// where the path does not begin with k6/x/, or is taken.
func Register(name string, mod any) {
	if !strings.HasPrefix(name, "k6/x/") {
		panic(fmt.Sprintf("module %q: its path must begin with k6/x/", name))
	}
	ext.Register(name, ext.JSExtension, mod)
}

// Module makes an instance for each VU.
type Module interface {
	NewModuleInstance(VU) Instance
}

// Instance is a module as one VU imports it.
type Instance interface {
	Exports() Exports
}

// Exports are what a script can import.
type Exports struct {
	Default any
	Named   map[string]any
}

// VU is the virtual user that imports a module.
type VU interface {
	Context() context.Context
	Events() common.Events
	InitEnv() *common.InitEnvironment // nil outside of the init context
	State() *lib.State                // nil in the init context
	Runtime() *sobek.Runtime
	// RegisterCallback keeps the event loop waiting until what it returns was
	// called, once, with the function that is to run on the loop.
	RegisterCallback() func(func() error)
}
