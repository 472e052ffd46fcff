package modules

import (
	"fmt"

	"github.com/grafana/sobek"
)

// Bytes are the bytes of a JS value: text as UTF-8, an ArrayBuffer or an array
// of bytes. They may be the value's own; do not change them.
func Bytes(v sobek.Value) ([]byte, error) {
	if v != nil {
		switch b := v.Export().(type) {
		case string:
			return []byte(b), nil
		case sobek.ArrayBuffer:
			return b.Bytes(), nil
		case []byte:
			return b, nil
		}
	}
	return nil, fmt.Errorf("want text, an ArrayBuffer or a Uint8Array, not %q", Text(v))
}

// Text is a value as text for an error, not longer than is of use there.
func Text(v sobek.Value) string {
	if v == nil {
		return "undefined"
	}
	text := v.String()
	if r := []rune(text); len(r) > 100 {
		text = string(r[:100]) + "…"
	}
	return text
}

// IsAsync says whether a value is an async function.
func IsAsync(v sobek.Value) bool {
	o, ok := v.(*sobek.Object)
	if !ok {
		return false
	}
	constructor, ok := o.Get("constructor").(*sobek.Object)
	if !ok {
		return false
	}
	name := constructor.Get("name")
	return name != nil && name.String() == "AsyncFunction"
}
