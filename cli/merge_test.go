package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/cli"
)

// Each shard alone has more samples than are kept as they are, so that their
// sketches are merged; the values are 1 to 160,000, each once.
func TestMergedSegmentsAreTheRun(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "shard.js")
	require.NoError(t, os.WriteFile(script, []byte(`
		import { check } from 'k6';
		import { Counter, Rate, Trend } from 'k6/metrics';
		const calls = new Counter('calls'), failed = new Rate('failed'), latency = new Trend('latency', true);
		export const options = { vus: 4, iterations: 40 };
		export default function () {
		  const i = Number(__ENV.PART || 0) * 10 + __ITER; // each part has one user
		  for (let n = 1; n <= 4000; n++) latency.add(i * 4000 + n);
		  for (let n = 0; n < 10; n++) failed.add(n % 5 === 0);
		  calls.add(3);
		  check(i, { counted: (v) => v >= 0, never: () => false });
		}`), 0o600))
	run := func(args ...string) {
		t.Helper()
		var out, log bytes.Buffer
		require.Zero(t, cli.Main(args, cli.Streams{Out: &out, Err: &log}), log.String())
	}
	args := []string{"compare", "--merge", "-o", filepath.Join(dir, "whole.json")}
	for i := range 4 {
		part := filepath.Join(dir, fmt.Sprintf("part-%d.json", i))
		run("run", script, "--quiet", "--execution-segment", fmt.Sprintf("%d/4:%d/4", i, i+1), "-e", fmt.Sprint("PART=", i), "--summary-sketches", part)
		args = append(args, part)
	}
	run(args...)
	run("run", script, "--quiet", "--summary-sketches", filepath.Join(dir, "one.json"))

	var whole struct {
		Metrics map[string]struct{ Values map[string]float64 }
		Root    struct {
			Checks []struct{ Passes, Fails int }
		} `json:"root_group"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "whole.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &whole))
	var one struct {
		Metrics []struct {
			Name    string
			Counter *struct{ Sum float64 }
			Rate    *struct{ Passes, Total float64 }
		}
	}
	data, err = os.ReadFile(filepath.Join(dir, "one.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &one))
	counted := 0
	for _, m := range one.Metrics {
		values := whole.Metrics[m.Name].Values
		if m.Counter != nil {
			counted++
			assert.Equal(t, m.Counter.Sum, values["count"], m.Name)
		}
		if m.Rate != nil {
			counted++
			assert.Equal(t, []float64{m.Rate.Passes, m.Rate.Total - m.Rate.Passes}, []float64{values["passes"], values["fails"]}, m.Name)
		}
	}
	assert.GreaterOrEqual(t, counted, 5)
	assert.Equal(t, []struct{ Passes, Fails int }{{40, 0}, {0, 40}}, whole.Root.Checks)

	latency := whole.Metrics["latency"].Values
	const n = 160_000
	assert.Equal(t, []float64{n, 1, n, (n + 1) / 2.0}, []float64{latency["count"], latency["min"], latency["max"], latency["avg"]})
	for key, p := range map[string]float64{"med": .5, "p(90)": .9, "p(95)": .95, "p(99)": .99, "p(99.9)": .999} {
		assert.InEpsilon(t, 1+p*(n-1), latency[key], .001, key)
	}
}
