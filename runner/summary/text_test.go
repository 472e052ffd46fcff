package summary

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/thresholds"
)

var update = flag.Bool("update", false, "write the golden files")

// busy is the summary of two scenarios with groups, thresholds and metrics of
// every section.
func busy(t *testing.T, mode Mode) *Data {
	t.Helper()
	r := metrics.NewRegistry()
	b, err := metrics.NewBuiltin(r)
	require.NoError(t, err)
	size, err := r.Register("payload", metrics.Trend, metrics.Data)
	require.NoError(t, err)
	level, err := r.Register("queue_level", metrics.Gauge, metrics.Default)
	require.NoError(t, err)
	specs := func(sources ...string) (out []thresholds.Spec) {
		for _, s := range sources {
			out = append(out, thresholds.Spec{Source: s})
		}
		return out
	}
	set, err := thresholds.New(r, map[string][]thresholds.Spec{
		"http_req_duration": specs("p(95)<200", "avg<500"), "http_req_duration{scenario:b}": specs("max<1"),
		"http_reqs": specs("count>=6", "rate>100"), "http_req_failed": specs("rate<0.5"), "queue_level": specs("value<9"),
		"checks{group:::order}": specs("rate>0.9"), "dropped_iterations": specs("count<1"),
	})
	require.NoError(t, err)
	e, parts := metrics.NewEngine(r), &Collector{}
	e.CountChecks(b.Checks)
	e.Attach(parts)
	buf, at := e.NewBuffer(), int64(0)
	push := func(m *metrics.Metric, v float64, scenario, group string, more ...string) {
		tags := r.Root().With("scenario", scenario).With("group", group)
		for i := 0; i < len(more); i += 2 {
			tags = tags.With(more[i], more[i+1])
		}
		at++
		buf.Push(context.Background(), metrics.Sample{Metric: m, Tags: tags, Value: v, Time: at})
	}
	for i := range 6 {
		scenario, group := []string{"a", "b"}[i%2], []string{"", "::order", "::order::pay"}[i/2]
		push(b.HTTPReqs, 1, scenario, group)
		push(b.HTTPReqDuration, float64(50*(i+1)), scenario, group)
		push(b.HTTPReqWaiting, float64(45*(i+1)), scenario, group)
		push(b.HTTPReqFailed, float64(i%2), scenario, group)
		push(b.Checks, float64(1-i%2), scenario, group, "check", "status ok")
		push(size, float64(1000*i), scenario, group)
		push(level, float64(i), scenario, group)
		push(b.GroupDuration, 9, scenario, group)
		push(b.IterationDuration, 310, scenario, "")
		push(b.Iterations, 1, scenario, "")
		push(b.DataReceived, 123456, scenario, "")
	}
	var d *Data
	e.View(func() {
		set.Evaluate(3*time.Second, true)
		d = Collect(r, e, set, DefaultTrendStats(), 3*time.Second)
		d.Mode = mode
		if mode == Full {
			d.Parts = parts.Part(DefaultTrendStats(), 3*time.Second)
		}
	})
	return d
}

func TestTextByMode(t *testing.T) {
	for name, c := range map[string]struct {
		mode  Mode
		color bool
	}{"compact": {mode: Compact}, "full": {mode: Full}, "legacy": {mode: Legacy}, "color": {mode: Compact, color: true}} {
		var b strings.Builder
		require.NoError(t, busy(t, c.mode).Text(&b, TextOptions{Color: c.color}))
		file := filepath.Join("testdata", "text-"+name+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), b.String(), name)
	}
}

func TestPartsAddUp(t *testing.T) {
	d := busy(t, Full)
	p := d.Parts
	assert.Empty(t, p.Groups, "each group is in a scenario")
	require.Len(t, p.Scenarios, 2)
	total := 0.0
	for i, name := range []string{"a", "b"} {
		s := p.Scenarios[i]
		assert.Equal(t, name, s.Name)
		require.Len(t, s.Groups, 1)
		require.Len(t, s.Groups[0].Groups, 1)
		assert.Equal(t, "pay", s.Groups[0].Groups[0].Name)
		assert.Equal(t, 3.0, count(s), "all of the scenario's")
		assert.Equal(t, 1.0, count(s.Groups[0]), "not those of the groups in it")
		total += count(s)
	}
	for _, m := range d.Metrics {
		if m.Name == "http_reqs" {
			assert.Equal(t, m.Get("count"), total)
		}
	}
}

func count(p *Part) float64 {
	for _, m := range p.Metrics {
		if m.Name == "http_reqs" {
			return m.Get("count")
		}
	}
	return 0
}

func TestPartsOfTheDefaultScenarioAreTheRuns(t *testing.T) {
	r := metrics.NewRegistry()
	m, err := r.Register("http_reqs", metrics.Counter, metrics.Default)
	require.NoError(t, err)
	c := &Collector{}
	for _, group := range []string{"", "::g", "::setup", "::teardown"} {
		tags := r.Root().With("scenario", "default").With("group", group)
		c.Add([]metrics.Sample{{Metric: m, Tags: tags, Value: 1}})
	}
	p := c.Part(nil, time.Second)
	assert.Empty(t, p.Scenarios)
	require.Len(t, p.Groups, 1)
	assert.Equal(t, "g", p.Groups[0].Name)
	assert.Empty(t, (&Collector{}).Part(nil, 0).Groups, "nothing was seen")
}
