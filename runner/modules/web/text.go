package web

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// newEncoder is `new TextEncoder()`: text to UTF-8.
func newEncoder(rt *sobek.Runtime, c sobek.ConstructorCall) *sobek.Object {
	_ = c.This.Set("encoding", "utf-8")
	_ = c.This.Set("encode", func(call sobek.FunctionCall) sobek.Value {
		text := ""
		if v := call.Argument(0); !sobek.IsUndefined(v) {
			text = v.String()
		}
		array, err := rt.New(rt.GlobalObject().Get("Uint8Array"), rt.ToValue(rt.NewArrayBuffer([]byte(text))))
		if err != nil {
			modules.Rethrow(rt, err)
		}
		return array
	})
	return nil
}

// decoder is a TextDecoder of UTF-8.
type decoder struct {
	rt               *sobek.Runtime
	fatal, ignoreBOM bool
	rest             []byte // the head of a character whose tail is still to come
	started          bool   // a stream is past its first character
}

// newDecoder is `new TextDecoder(label, options)`.
func newDecoder(rt *sobek.Runtime, c sobek.ConstructorCall) *sobek.Object {
	if label := c.Argument(0); !sobek.IsUndefined(label) {
		switch strings.ToLower(strings.TrimSpace(label.String())) {
		case "utf-8", "utf8", "unicode-1-1-utf-8":
		default:
			panic(newNamedError(rt, "RangeError", fmt.Sprintf("new TextDecoder(%q): the built-in runner decodes utf-8 only", modules.Text(label))))
		}
	}
	d := &decoder{rt: rt}
	if o, ok := c.Argument(1).(*sobek.Object); ok {
		d.fatal, d.ignoreBOM = option(o, "fatal"), option(o, "ignoreBOM")
	}
	_ = c.This.Set("encoding", "utf-8")
	_ = c.This.Set("fatal", d.fatal)
	_ = c.This.Set("ignoreBOM", d.ignoreBOM)
	_ = c.This.Set("decode", d.decode)
	return nil
}

func option(o *sobek.Object, name string) bool {
	v := o.Get(name)
	return v != nil && v.ToBoolean()
}

func (d *decoder) decode(c sobek.FunctionCall) sobek.Value {
	var more []byte
	if v := c.Argument(0); !sobek.IsUndefined(v) {
		var err error
		if more, err = modules.Bytes(v); err != nil || sobek.IsString(v) {
			panic(d.rt.NewTypeError("TextDecoder.decode(): want an ArrayBuffer or a Uint8Array, not %q", modules.Text(v)))
		}
	}
	o, ok := c.Argument(1).(*sobek.Object)
	stream := ok && option(o, "stream")
	b := append(d.rest, more...)
	d.rest = nil
	if stream {
		n := len(b) - unfinished(b)
		b, d.rest = b[:n], bytes.Clone(b[n:])
	}
	if d.fatal && !utf8.Valid(b) {
		d.started = false
		panic(d.rt.NewTypeError("TextDecoder.decode(): the bytes are not utf-8"))
	}
	if !d.started && !d.ignoreBOM {
		b = bytes.TrimPrefix(b, []byte("\ufeff"))
	}
	d.started = stream && (d.started || len(b) > 0)
	return d.rt.ToValue(replaced(b))
}

// unfinished is how many bytes at the end begin a character that more bytes
// may complete.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// replaced is text with U+FFFD for what is not UTF-8.
func replaced(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}
