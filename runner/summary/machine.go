package summary

import "time"

const (
	// machineVersion is the version of the machine-readable summary's schema.
	machineVersion = "1.0.0"
	// madeBy says which k6 the summary is like, and that it is not k6's.
	madeBy = "2.2.0+retrylab"
)

// MachineReadable is the summary in the shape of k6's
// --new-machine-readable-summary. It has neither thresholds nor groups, and of
// a trend's statistics only avg, min, med, max, p(90) and p(95), as far as they
// are among the run's.
func (d *Data) MachineReadable() ([]byte, error) {
	metrics := make([]any, 0, len(d.Metrics))
	sections := d.Mode.bySection(d.Metrics)
	for _, title := range []string{http, execution, network, custom} {
		for _, m := range sections[title] {
			metrics = append(metrics, machine(m.Name, m.Type, m.Contains, m.machineValues()))
		}
	}
	return encode(obj{
		"config": obj{"duration": d.Duration.Seconds(), "execution": "local", "script": d.Script},
		"metadata": obj{
			"generated_at": d.Ended.UTC().Format(time.RFC3339Nano),
			"k6_version":   madeBy,
		},
		"results": obj{"checks": d.machineChecks(), "metrics": metrics},
		"version": machineVersion,
	}, "    ")
}

func machine(name, kind, contains string, values obj) obj {
	return obj{"name": name, "type": kind, "contains": contains, "values": values}
}

func (m Metric) machineValues() obj {
	switch m.Type {
	case "counter":
		return obj{"count": number(m.Get("count"))}
	case "rate":
		return rateValues(m.Get("passes"), m.Get("passes")+m.Get("fails"))
	}
	names := map[string]string{
		"avg": "avg", "min": "min", "med": "med", "max": "max", "p(90)": "p90", "p(95)": "p95", "value": "value",
	}
	out := make(obj)
	for _, v := range m.Values {
		if name, ok := names[v.Name]; ok {
			out[name] = number(v.Number)
		}
	}
	return out
}

func rateValues(matches, total float64) obj {
	rate := 0.0
	if total > 0 {
		rate = matches / total
	}
	return obj{"matches": int64(matches), "total": int64(total), "rate": number(rate)}
}

// machineChecks are the checks without their groups: those of one name are one.
func (d *Data) machineChecks() obj {
	for _, m := range d.Metrics {
		if m.Name != "checks" {
			continue
		}
		passes, fails := m.Get("passes"), m.Get("fails")
		total := passes + fails
		results := make([]any, 0)
		for _, c := range d.Root.byName() {
			results = append(results, obj{"name": c.Name, "passes": c.Passes, "fails": c.Fails})
		}
		out := obj{"metrics": []any{
			machine("checks_total", "counter", "default", obj{"count": number(total)}),
			machine("checks_failed", "rate", "default", rateValues(fails, total)),
			machine("checks_succeeded", "rate", "default", rateValues(passes, total)),
		}}
		if len(results) > 0 {
			out["results"] = results
		}
		return out
	}
	return obj{}
}

// byName are the checks of a group and the groups in it, those of one name
// added up.
func (g *Group) byName() []*Check {
	var out []*Check
	at := make(map[string]*Check)
	var walk func(*Group)
	walk = func(g *Group) {
		for _, c := range g.Checks {
			sum := at[c.Name]
			if sum == nil {
				sum = &Check{Name: c.Name}
				at[c.Name] = sum
				out = append(out, sum)
			}
			sum.Passes += c.Passes
			sum.Fails += c.Fails
		}
		for _, c := range g.Groups {
			walk(c)
		}
	}
	walk(g)
	return out
}
