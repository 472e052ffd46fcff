package summary

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/thresholds"
)

func golden(t *testing.T, name string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

func decoded(t *testing.T, b []byte, err error) map[string]any {
	t.Helper()
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

// fromList reads a group of the handleSummary shape.
func fromList(g map[string]any) *Group {
	out := &Group{Name: g["name"].(string), Path: g["path"].(string), ID: g["id"].(string)}
	for _, c := range g["groups"].([]any) {
		out.Groups = append(out.Groups, fromList(c.(map[string]any)))
	}
	for _, c := range g["checks"].([]any) {
		out.Checks = append(out.Checks, checkOf(c.(map[string]any)))
	}
	return out
}

// fromNested reads a group of the export's shape.
func fromNested(g map[string]any) *Group {
	out := &Group{Name: g["name"].(string), Path: g["path"].(string), ID: g["id"].(string)}
	for _, c := range g["groups"].(map[string]any) {
		out.Groups = append(out.Groups, fromNested(c.(map[string]any)))
	}
	for _, c := range g["checks"].(map[string]any) {
		out.Checks = append(out.Checks, checkOf(c.(map[string]any)))
	}
	return out
}

func checkOf(c map[string]any) Check {
	return Check{
		Name: c["name"].(string), Path: c["path"].(string), ID: c["id"].(string),
		Passes: int64(c["passes"].(float64)), Fails: int64(c["fails"].(float64)),
	}
}

// TestHandleSummaryIsK6s reads what k6 gave a handleSummary and writes it.
func TestHandleSummaryIsK6s(t *testing.T) {
	want := golden(t, "handlesummary-compact.json")
	d := &Data{Root: fromList(want["root_group"].(map[string]any)), TrendStats: DefaultTrendStats()}
	d.Duration = time.Duration(want["state"].(map[string]any)["testRunDurationMs"].(float64) * 1e6)
	setup, err := json.Marshal(want["setup_data"])
	require.NoError(t, err)
	d.SetupData = setup
	for name, m := range want["metrics"].(map[string]any) {
		m := m.(map[string]any)
		out := Metric{Name: name, Type: m["type"].(string), Contains: m["contains"].(string)}
		for v, n := range m["values"].(map[string]any) {
			out.Values = append(out.Values, Value{v, n.(float64)})
		}
		if ts, ok := m["thresholds"].(map[string]any); ok {
			for src, v := range ts {
				out.Thresholds = append(out.Thresholds, Threshold{Source: src, OK: v.(map[string]any)["ok"].(bool)})
			}
		}
		d.Metrics = append(d.Metrics, out)
	}
	b, err := d.HandleSummary()
	assert.Equal(t, want, decoded(t, b, err))
}

// TestExportIsK6s reads a file of k6's --summary-export and writes it.
func TestExportIsK6s(t *testing.T) {
	want := golden(t, "summary-export-default.json")
	types := golden(t, "handlesummary-compact.json")["metrics"].(map[string]any)
	d := &Data{Root: fromNested(want["root_group"].(map[string]any))}
	setup, err := json.Marshal(want["setup_data"])
	require.NoError(t, err)
	d.SetupData = setup
	for name, m := range want["metrics"].(map[string]any) {
		out := Metric{Name: name, Type: types[name].(map[string]any)["type"].(string)}
		for k, v := range m.(map[string]any) {
			if k == "thresholds" {
				for src, failed := range v.(map[string]any) {
					out.Thresholds = append(out.Thresholds, Threshold{Source: src, OK: !failed.(bool)})
				}
				continue
			}
			if out.Type == "rate" && k == "value" {
				k = "rate"
			}
			out.Values = append(out.Values, Value{k, v.(float64)})
		}
		d.Metrics = append(d.Metrics, out)
	}
	b, err := d.Export()
	assert.Equal(t, want, decoded(t, b, err))
}

// TestUnseenMetricsAreK6s makes the run of the fixture: thresholds on metrics
// that never get a sample.
func TestUnseenMetricsAreK6s(t *testing.T) {
	want := golden(t, "summary-export-empty-thresholds.json")["metrics"].(map[string]any)
	for _, seen := range []string{"iterations", "iteration_duration", "data_sent", "data_received"} {
		delete(want, seen)
	}
	r := metrics.NewRegistry()
	_, err := metrics.NewBuiltin(r)
	require.NoError(t, err)
	for name, kind := range map[string]metrics.Kind{"cc": metrics.Counter, "gg": metrics.Gauge, "rr": metrics.Rate, "tt": metrics.Trend} {
		_, err := r.Register(name, kind, metrics.Default)
		require.NoError(t, err)
	}
	spec := func(s string) []thresholds.Spec { return []thresholds.Spec{{Source: s}} }
	set, err := thresholds.New(r, map[string][]thresholds.Spec{
		"http_req_duration{x:y}": spec("avg>3"), "gg": spec("value>5"), "rr": spec("rate>0.5"), "rr{a:b}": spec("rate>0.5"),
		"tt": spec("p(95)>5"), "cc": spec("count>5"), "cc{a:b}": spec("count==0"),
	})
	require.NoError(t, err)
	e := metrics.NewEngine(r)
	var d *Data
	e.View(func() {
		set.Evaluate(time.Second, true)
		d = Collect(r, e, set, DefaultTrendStats(), time.Second)
	})
	b, err := d.Export()
	assert.Equal(t, want, decoded(t, b, err)["metrics"])
	assert.Equal(t, []string{"cc", "gg", "http_req_duration{x:y}", "tt"}, d.Failed())
}

// collected is a summary of a few samples of each kind.
func collected(t *testing.T, stats []string) *Data {
	t.Helper()
	r := metrics.NewRegistry()
	b, err := metrics.NewBuiltin(r)
	require.NoError(t, err)
	_, err = r.Find("http_req_duration{expected_response:true}")
	require.NoError(t, err)
	e := metrics.NewEngine(r)
	e.CountChecks(b.Checks)
	buf := e.NewBuffer()
	push := func(m *metrics.Metric, v float64, tags ...string) {
		set := r.Root()
		for i := 0; i < len(tags); i += 2 {
			set = set.With(tags[i], tags[i+1])
		}
		buf.Push(context.Background(), metrics.Sample{Metric: m, Tags: set, Value: v})
	}
	push(b.HTTPReqDuration, 1.5, "expected_response", "true")
	push(b.HTTPReqDuration, 250, "expected_response", "false")
	push(b.HTTPReqs, 2)
	push(b.DataSent, 2500)
	push(b.VUs, 3)
	push(b.Checks, 1, "group", "", "check", "top")
	push(b.Checks, 1, "group", "::a::b", "check", "deep")
	push(b.Checks, 0, "group", "::a::b", "check", "deep")
	set, err := thresholds.New(r, map[string][]thresholds.Spec{
		"http_reqs": {{Source: "count>1"}, {Source: "count>2"}}, "iterations": {{Source: "count<1"}},
	})
	require.NoError(t, err)
	var d *Data
	e.View(func() {
		set.Evaluate(2*time.Second, true)
		d = Collect(r, e, set, stats, 2*time.Second)
	})
	return d
}

func TestCollectHasTheShapeOfK6(t *testing.T) {
	b, err := collected(t, DefaultTrendStats()).HandleSummary()
	got := decoded(t, b, err)
	want := golden(t, "handlesummary-compact.json")
	delete(want, "setup_data") // there is none without a setup
	assert.Equal(t, keys(want), keys(got))
	theirs := want["metrics"].(map[string]any)
	for name, m := range got["metrics"].(map[string]any) {
		if name == "iterations" || name == "http_reqs" {
			continue // of other thresholds
		}
		their, ok := theirs[name].(map[string]any)
		require.True(t, ok, name)
		assert.Equal(t, keys(their), keys(m.(map[string]any)), name)
		assert.Equal(t, keys(their["values"].(map[string]any)), keys(m.(map[string]any)["values"].(map[string]any)), name)
		assert.Equal(t, their["type"], m.(map[string]any)["type"], name)
		assert.Equal(t, their["contains"], m.(map[string]any)["contains"], name)
	}
	assert.NotContains(t, got["metrics"], "group_duration", "a metric without samples is not shown")
}

func keys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func TestGroupsAreATreeWithK6sIDs(t *testing.T) {
	root := collected(t, DefaultTrendStats()).Root
	assert.Equal(t, "d41d8cd98f00b204e9800998ecf8427e", root.ID)
	require.Len(t, root.Groups, 1)
	require.Len(t, root.Groups[0].Groups, 1)
	deep := root.Groups[0].Groups[0]
	assert.Equal(t, "::a::b", deep.Path)
	assert.Equal(t, []Check{{Name: "deep", Path: "::a::b::deep", ID: id("::a::b::deep"), Passes: 1, Fails: 1}}, deep.Checks)
	// k6's own, from the fixture.
	assert.Equal(t, "f9ad03c2bf99897915110f7ce1eb459e", id("::grp::inner::inner ok"))
}

func TestTrendStatsChooseTheValues(t *testing.T) {
	b, err := collected(t, []string{"count", "p(99.9)", "max"}).Export()
	got := decoded(t, b, err)["metrics"].(map[string]any)["http_req_duration"].(map[string]any)
	assert.Equal(t, []string{"count", "max", "p(99.9)"}, keys(got))
	assert.Equal(t, 2.0, got["count"])
	assert.InDelta(t, 249.7515, got["p(99.9)"], 1e-9)
	for name, ok := range map[string]bool{"avg": true, "p(0)": true, "p(101)": false, "p95": false, "sum": false, "": false} {
		assert.Equal(t, ok, ValidStat(name), name)
	}
}

func TestText(t *testing.T) {
	var b strings.Builder
	require.NoError(t, collected(t, DefaultTrendStats()).Text(&b, TextOptions{}))
	text := b.String()
	for _, want := range []string{
		"✓ count>1  (count=2)\n", "✗ count>2  (count=2)\n", "✓ count<1  (no sample seen)\n",
		"✓ top\n", "✗ deep  50.00% passed: 1 of 2\n",
		"2.5 kB", "1.2 kB/s", "avg=125.75ms", "min=1.50ms", "66.67%", "{expected_response:true}",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "\x1b[")
	b.Reset()
	require.NoError(t, collected(t, DefaultTrendStats()).Text(&b, TextOptions{Color: true}))
	assert.Contains(t, b.String(), "\x1b[31m✗\x1b[0m")
}

func TestHumanNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{span(0, ""), "0s"}, {span(0.0123, ""), "12.30µs"}, {span(12.345, ""), "12.35ms"}, {span(1500, ""), "1.50s"},
		{span(90_000, ""), "1m30s"}, {span(1500, "ms"), "1500.00ms"}, {span(1500, "s"), "1.500s"}, {span(1.5, "us"), "1500.00µs"},
		{size(999), "999 B"}, {size(1000), "1.0 kB"}, {size(1.25e7), "12.5 MB"},
		{percent(1), "100.00%"}, {percent(0.99999), "99.99%"}, {percent(0.00001), "<0.01%"}, {percent(0), "0.00%"}, {percent(0.29), "29.00%"},
		{plain(3), "3"}, {plain(2.0 / 3), "0.666667"},
	} {
		assert.Equal(t, c.want, c.got)
	}
}
