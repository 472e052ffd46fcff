// Package web is what k6 takes from browsers and has everywhere: crypto,
// TextEncoder and TextDecoder.
package web

import (
	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// Install makes the globals in a virtual user's runtime.
func Install(vu modules.VU) error {
	rt := vu.Runtime()
	crypto, err := newCrypto(vu)
	if err != nil {
		return err
	}
	for name, val := range map[string]any{
		"crypto":      crypto,
		"TextEncoder": func(c sobek.ConstructorCall) *sobek.Object { return newEncoder(rt, c) },
		"TextDecoder": func(c sobek.ConstructorCall) *sobek.Object { return newDecoder(rt, c) },
	} {
		if err := rt.Set(name, val); err != nil {
			return err
		}
	}
	return nil
}

// newNamedError makes a JS Error of a name, as browsers throw them.
func newNamedError(rt *sobek.Runtime, name, message string) *sobek.Object {
	o := modules.NewError(rt, message).ToObject(rt)
	_ = o.Set("name", name)
	return o
}
