package summary

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMachineReadableIsK6s reads k6's machine-readable summaries, one that
// handleSummary got and one from a file, and writes them.
func TestMachineReadableIsK6s(t *testing.T) {
	for _, name := range []string{"handlesummary-machine.json", "summary-export-machine.json"} {
		want := golden(t, name)
		config, results := want["config"].(map[string]any), want["results"].(map[string]any)
		d := &Data{
			Root: &Group{}, Duration: time.Duration(config["duration"].(float64) * 1e9),
			Script: config["script"].(string), Ended: time.Unix(1, 2),
		}
		checks := results["checks"].(map[string]any)
		for _, c := range checks["results"].([]any) {
			c := c.(map[string]any)
			d.Root.Checks = append(d.Root.Checks, Check{
				Name: c["name"].(string), Passes: int64(c["passes"].(float64)), Fails: int64(c["fails"].(float64)),
			})
		}
		all := results["metrics"].([]any)
		for _, m := range append(slices.Clone(all), checks["metrics"].([]any)[2]) {
			d.Metrics = append(d.Metrics, fromMachine(m.(map[string]any)))
		}
		slices.SortFunc(d.Metrics, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
		b, err := d.MachineReadable()
		got := decoded(t, b, err)
		assert.Equal(t, keys(want["metadata"].(map[string]any)), keys(got["metadata"].(map[string]any)))
		assert.Equal(t, map[string]any{"generated_at": "1970-01-01T00:00:01.000000002Z", "k6_version": "2.2.0+retrylab"}, got["metadata"])
		delete(want, "metadata")
		delete(got, "metadata")
		// k6's order changes from run to run within a section.
		byName := func(a, b any) int {
			return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
		}
		slices.SortFunc(all, byName)
		slices.SortFunc(got["results"].(map[string]any)["metrics"].([]any), byName)
		assert.Equal(t, want, got, name)
	}
}

// fromMachine reads a metric of the machine-readable summary.
func fromMachine(m map[string]any) Metric {
	name := m["name"].(string)
	if name == "checks_succeeded" {
		name = "checks"
	}
	out := Metric{Name: name, Type: m["type"].(string), Contains: m["contains"].(string)}
	for k, v := range m["values"].(map[string]any) {
		n := v.(float64)
		switch {
		case out.Type == "rate" && k == "matches":
			out.Values = append(out.Values, Value{"passes", n}, Value{"fails", m["values"].(map[string]any)["total"].(float64) - n})
		case k == "p90":
			out.Values = append(out.Values, Value{"p(90)", n})
		case k == "p95":
			out.Values = append(out.Values, Value{"p(95)", n})
		default:
			out.Values = append(out.Values, Value{k, n})
		}
	}
	return out
}

func TestMachineReadableOfARunWithoutChecks(t *testing.T) {
	d := &Data{Root: &Group{}, Metrics: []Metric{
		{Name: "took", Type: "trend", Contains: "time", Values: []Value{{"avg", 1}, {"p(99)", 3}}},
		{Name: "http_req_waiting", Type: "trend", Contains: "time", Values: []Value{{"avg", 1}}},
	}}
	b, err := d.MachineReadable()
	got := decoded(t, b, err)["results"].(map[string]any)
	assert.Equal(t, map[string]any{}, got["checks"])
	assert.Equal(t, []any{map[string]any{
		"name": "took", "type": "trend", "contains": "time", "values": map[string]any{"avg": 1.0},
	}}, got["metrics"], "neither other percentiles nor, unless the mode is full, the phases of a request")
	d.Mode = Full
	b, err = d.MachineReadable()
	assert.Len(t, decoded(t, b, err)["results"].(map[string]any)["metrics"], 2)
}

func TestChecksOfOneNameAreOneForMachines(t *testing.T) {
	d := &Data{
		Metrics: []Metric{{Name: "checks", Type: "rate", Values: []Value{{"passes", 3}, {"fails", 1}}}},
		Root: &Group{
			Checks: []Check{{Name: "ok", Passes: 1}},
			Groups: []*Group{{Name: "g", Checks: []Check{{Name: "other", Passes: 1}, {Name: "ok", Passes: 1, Fails: 1}}}},
		},
	}
	b, err := d.MachineReadable()
	require.NoError(t, err)
	var out struct {
		Results struct {
			Checks struct {
				Results []struct {
					Name          string
					Passes, Fails int64
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(b, &out))
	require.Len(t, out.Results.Checks.Results, 2)
	assert.Equal(t, "ok", out.Results.Checks.Results[0].Name)
	assert.EqualValues(t, 2, out.Results.Checks.Results[0].Passes)
	assert.EqualValues(t, 1, out.Results.Checks.Results[0].Fails)
}

func TestParseMode(t *testing.T) {
	for name, want := range map[string]Mode{"": Compact, "compact": Compact, "full": Full, "legacy": Legacy, "disabled": Disabled} {
		got, err := ParseMode(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := ParseMode("Full")
	require.EqualError(t, err, `summary mode "Full" is none of compact, full, legacy, disabled`)
}
