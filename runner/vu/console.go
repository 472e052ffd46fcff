package vu

import (
	"encoding/json"
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
				parts[i] = v.show(a)
			}
			log.Log(level, strings.Join(parts, " "))
			return sobek.Undefined()
		}); err != nil {
			return err
		}
	}
	return v.rt.Set("console", o)
}

// show is a value as the console prints it: text as it is, objects as JSON.
func (v *VU) show(val sobek.Value) string {
	o, ok := val.(*sobek.Object)
	if !ok {
		return val.String()
	}
	if _, isFunc := sobek.AssertFunction(o); isFunc {
		return "[object Function]"
	}
	if o.ClassName() == "Error" {
		if stack := o.Get("stack"); !modules.IsNullish(stack) {
			return stack.String()
		}
		return o.String()
	}
	b, err := v.stringify(o)
	if err != nil || b == nil {
		return o.String()
	}
	return string(b)
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
