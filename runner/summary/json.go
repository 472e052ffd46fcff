package summary

import (
	"bytes"
	"encoding/json"
	"math"
	"time"
)

type obj = map[string]any

// number is a number as JavaScript writes it in JSON: null if it is infinite
// or not a number.
type number float64

// MarshalJSON never fails.
func (n number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(v)
}

// HandleSummary is the object that a script's handleSummary gets.
func (d *Data) HandleSummary() ([]byte, error) {
	metrics := make(obj, len(d.Metrics))
	for _, m := range d.Metrics {
		vals := make(obj, len(m.Values))
		for _, v := range m.Values {
			vals[v.Name] = number(v.Number)
		}
		o := obj{"type": m.Type, "contains": m.Contains, "values": vals}
		if len(m.Thresholds) > 0 {
			ts := make(obj, len(m.Thresholds))
			for _, t := range m.Thresholds {
				ts[t.Source] = obj{"ok": t.OK}
			}
			o["thresholds"] = ts
		}
		metrics[m.Name] = o
	}
	out := obj{
		"root_group": d.Root.list(),
		"options":    obj{"summaryTrendStats": d.TrendStats, "summaryTimeUnit": d.TimeUnit, "noColor": d.NoColor},
		"state": obj{
			"isStdOutTTY": d.StdoutTTY, "isStdErrTTY": d.StderrTTY,
			"testRunDurationMs": float64(d.Duration) / float64(time.Millisecond),
		},
		"metrics": metrics,
	}
	if d.SetupData != nil {
		out["setup_data"] = d.SetupData
	}
	return encode(out, "")
}

// list is a group with its groups and checks in lists.
func (g *Group) list() obj {
	groups, checks := make([]any, 0, len(g.Groups)), make([]any, 0, len(g.Checks))
	for _, c := range g.Groups {
		groups = append(groups, c.list())
	}
	for _, c := range g.Checks {
		checks = append(checks, c.object())
	}
	return obj{"name": g.Name, "path": g.Path, "id": g.ID, "groups": groups, "checks": checks}
}

// nested is a group with its groups and checks by name.
func (g *Group) nested() obj {
	groups, checks := make(obj, len(g.Groups)), make(obj, len(g.Checks))
	for _, c := range g.Groups {
		groups[c.Name] = c.nested()
	}
	for _, c := range g.Checks {
		checks[c.Name] = c.object()
	}
	return obj{"name": g.Name, "path": g.Path, "id": g.ID, "groups": groups, "checks": checks}
}

func (c Check) object() obj {
	return obj{"name": c.Name, "path": c.Path, "id": c.ID, "passes": c.Passes, "fails": c.Fails}
}

// Export is the file of --summary-export: the values of a metric lie flat, a
// rate's rate is its value, and a threshold is true if it failed.
func (d *Data) Export() ([]byte, error) {
	metrics := make(obj, len(d.Metrics))
	for _, m := range d.Metrics {
		o := make(obj, len(m.Values)+1)
		for _, v := range m.Values {
			name := v.Name
			if m.Type == "rate" && name == "rate" {
				name = "value"
			}
			o[name] = number(v.Number)
		}
		if len(m.Thresholds) > 0 {
			ts := make(obj, len(m.Thresholds))
			for _, t := range m.Thresholds {
				ts[t.Source] = !t.OK
			}
			o["thresholds"] = ts
		}
		metrics[m.Name] = o
	}
	out := obj{"metrics": metrics, "root_group": d.Root.nested()}
	if d.SetupData != nil {
		out["setup_data"] = d.SetupData
	}
	return encode(out, "    ")
}

func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
