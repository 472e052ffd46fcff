package vu

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/runner/modules"
)

// installConsole gives the script console.log and its like, which write to
// the logger.
func (v *VU) installConsole() error {
	log := v.log.WithField("source", "console")
	o := v.rt.NewObject()
	for name, level := range map[string]logrus.Level{
		"log": logrus.InfoLevel, "info": logrus.InfoLevel, "debug": logrus.DebugLevel,
		"warn": logrus.WarnLevel, "error": logrus.ErrorLevel,
	} {
		if err := o.Set(name, func(c sobek.FunctionCall) sobek.Value {
			parts := make([]string, len(c.Arguments))
			for i, a := range c.Arguments {
				parts[i] = show(a)
			}
			log.Log(level, strings.Join(parts, " "))
			return sobek.Undefined()
		}); err != nil {
			return err
		}
	}
	return v.rt.Set("console", o)
}

// show is a value as the console prints it, in k6's form: text as it is,
// objects as { key: "value" } and lists as [ 1, 2 ].
func show(val sobek.Value) string {
	o, ok := val.(*sobek.Object)
	if !ok {
		return val.String()
	}
	if err, ok := o.Export().(error); ok {
		return err.Error()
	}
	p := printer{inside: make(map[*sobek.Object]bool)}
	p.value(o)
	return p.String()
}

// printer writes the values inside of values.
type printer struct {
	strings.Builder
	inside map[*sobek.Object]bool
}

func (p *printer) value(val sobek.Value) {
	o, ok := val.(*sobek.Object)
	switch {
	case modules.IsNullish(val):
		p.WriteString("null")
	case ok:
		p.object(o)
	case sobek.IsString(val):
		p.WriteString(`"` + val.String() + `"`)
	default:
		p.WriteString(val.String())
	}
}

func (p *printer) object(o *sobek.Object) {
	if _, ok := sobek.AssertFunction(o); ok {
		p.WriteString("[object Function]")
		return
	}
	if p.inside[o] {
		p.WriteString("[Circular]")
		return
	}
	p.inside[o] = true
	defer delete(p.inside, o)
	switch o.ClassName() {
	case "Error":
		p.WriteString(o.String())
		return
	case "Date":
		if fn, ok := sobek.AssertFunction(o.Get("toISOString")); ok {
			if text, err := fn(o); err == nil {
				p.WriteString(`"` + text.String() + `"`)
				return
			}
		}
	case "Array":
		p.list("", o)
		return
	}
	if b, ok := o.Export().(sobek.ArrayBuffer); ok {
		fmt.Fprintf(p, "ArrayBuffer { [Uint8Contents]: <% x>, byteLength: %d }", b.Bytes(), len(b.Bytes()))
		return
	}
	if name := typedArray(o); name != "" {
		p.list(fmt.Sprintf("%s(%d) ", name, o.Get("length").ToInteger()), o)
		return
	}
	keys := o.Keys()
	if len(keys) == 0 {
		p.WriteString("{}")
		return
	}
	for i, key := range keys {
		p.WriteString([]string{"{ ", ", "}[min(i, 1)] + key + ": ")
		p.value(o.Get(key))
	}
	p.WriteString(" }")
}

func (p *printer) list(head string, o *sobek.Object) {
	p.WriteString(head)
	n := o.Get("length").ToInteger()
	if n == 0 {
		p.WriteString("[]")
		return
	}
	for i := range n {
		p.WriteString([]string{"[ ", ", "}[min(i, 1)])
		p.value(o.Get(strconv.FormatInt(i, 10)))
	}
	p.WriteString(" ]")
}

// typedArray is the name of the kind of an array of numbers, "" for any other
// object. A clamped array is shown as a plain one.
func typedArray(o *sobek.Object) string {
	switch o.Export().(type) {
	case []int8:
		return "Int8Array"
	case []uint8:
		return "Uint8Array"
	case []int16:
		return "Int16Array"
	case []uint16:
		return "Uint16Array"
	case []int32:
		return "Int32Array"
	case []uint32:
		return "Uint32Array"
	case []float32:
		return "Float32Array"
	case []float64:
		return "Float64Array"
	case []int64:
		return "BigInt64Array"
	case []uint64:
		return "BigUint64Array"
	}
	return ""
}

// stringify is JSON.stringify; nil for what has no JSON.
func (v *VU) stringify(val sobek.Value) ([]byte, error) {
	fn, _ := sobek.AssertFunction(v.rt.GlobalObject().Get("JSON").ToObject(v.rt).Get("stringify"))
	out, err := fn(sobek.Undefined(), val)
	if err != nil {
		return nil, err
	}
	if modules.IsNullish(out) {
		return nil, nil
	}
	return []byte(out.String()), nil
}

// parse is JSON.parse.
func (v *VU) parse(data json.RawMessage) (sobek.Value, error) {
	fn, _ := sobek.AssertFunction(v.rt.GlobalObject().Get("JSON").ToObject(v.rt).Get("parse"))
	return fn(sobek.Undefined(), v.rt.ToValue(string(data)))
}
