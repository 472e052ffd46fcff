// Package ext lists the extensions of a process.
package ext

import (
	"fmt"
	"maps"
	"sync"
)

// ExtensionType says what an extension extends.
type ExtensionType uint8

// JSExtension is a module for scripts.
const JSExtension ExtensionType = 1

// Extension is one that was registered.
type Extension struct {
	Name   string
	Type   ExtensionType
	Module any
}

var (
	mu         sync.Mutex
	registered = map[ExtensionType]map[string]*Extension{JSExtension: {}}
)

// Register adds an extension. It panics where the name is taken.
func Register(name string, typ ExtensionType, module any) {
	mu.Lock()
	defer mu.Unlock()
	if _, taken := registered[typ][name]; taken {
		panic(fmt.Sprintf("extension %q is registered already", name))
	}
	registered[typ][name] = &Extension{Name: name, Type: typ, Module: module}
}

// Get returns the extensions of a type by their names.
func Get(typ ExtensionType) map[string]*Extension {
	mu.Lock()
	defer mu.Unlock()
	return maps.Clone(registered[typ])
}
