// Package k6encoding is the module `k6/encoding`: base64.
package k6encoding

import (
	"encoding/base64"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// New makes the module for a virtual user.
func New(vu modules.VU) (modules.Exports, error) {
	rt := vu.Runtime()
	return modules.Exports{Named: map[string]any{
		"b64encode": func(c sobek.FunctionCall) sobek.Value {
			b, err := modules.Bytes(c.Argument(0))
			if err != nil {
				modules.Throw(rt, "b64encode(): %s", err)
			}
			return rt.ToValue(encoding(c.Argument(1)).EncodeToString(b))
		},
		"b64decode": func(c sobek.FunctionCall) sobek.Value {
			b, err := encoding(c.Argument(1)).DecodeString(c.Argument(0).String())
			if err != nil {
				modules.Throw(rt, "b64decode(%q): %s", modules.Text(c.Argument(0)), err)
			}
			if c.Argument(2).String() == "s" {
				return rt.ToValue(string(b))
			}
			return rt.ToValue(rt.NewArrayBuffer(b))
		},
	}}, nil
}

// encoding is base64 by name; as in k6 one that is not known is std.
func encoding(name sobek.Value) *base64.Encoding {
	switch name.String() {
	case "rawstd":
		return base64.RawStdEncoding
	case "url":
		return base64.URLEncoding
	case "rawurl":
		return base64.RawURLEncoding
	}
	return base64.StdEncoding
}
