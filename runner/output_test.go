package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner"
	"github.com/retrylab/retrylab/runner/internal/scripttest"
	"github.com/retrylab/retrylab/runner/summary"
)

// TestOutputsHaveWhatTheSummaryCounts has an interrupted run's files hold every
// sample, those of teardown included.
func TestOutputsHaveWhatTheSummaryCounts(t *testing.T) {
	dir := t.TempDir()
	ndjson, table := filepath.Join(dir, "x.ndjson"), filepath.Join(dir, "x.csv")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := runner.Run(ctx, runner.Config{
		Script: "s.js", NoSummary: true, Out: []string{"json=" + ndjson, "csv=" + table},
		FS: scripttest.Files(map[string]string{"s.js": `
			import { Counter } from 'k6/metrics';
			const mine = new Counter('mine');
			export const options = { vus: 2, duration: '1m' };
			export default function () { mine.add(1); }
			export function teardown() { mine.add(1000); }`}),
		Progress: func(s runner.Status) {
			if s.Iterations > 100 {
				cancel()
			}
		},
		ProgressInterval: 1,
	})
	require.Equal(t, runner.InterruptedRun, runner.KindOf(err), "%v", err)
	want := 0.0
	for _, m := range res.Summary.Metrics {
		if m.Name == "mine" {
			want = m.Get("count")
		}
	}
	require.Greater(t, want, 1100.0)
	b, err := os.ReadFile(ndjson)
	require.NoError(t, err)
	got := 0.0
	for line := range strings.Lines(string(b)) {
		var l struct {
			Metric, Type string
			Data         struct{ Value float64 }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		if l.Type == "Point" && l.Metric == "mine" {
			got += l.Data.Value
		}
	}
	assert.Equal(t, want, got)
	b, err = os.ReadFile(table)
	require.NoError(t, err)
	assert.Equal(t, int(want)-1000+1, strings.Count(string(b), "\nmine,"))
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAnOutputThatCannotBeWrittenFailsTheRunAtItsEnd(t *testing.T) {
	res, err := runner.Run(t.Context(), runner.Config{
		Script: "s.js", Stdout: fullDisk{}, NoSummary: true, Out: []string{"json"},
		FS: scripttest.Files(map[string]string{"s.js": "export const options = {iterations: 3}; export default function () {}"}),
	})
	require.EqualError(t, err, `write the output "stdout": no space left`)
	assert.EqualValues(t, 3, res.Iterations)
}

func TestHandleSummaryGetsTheMachineReadableShape(t *testing.T) {
	var out bytes.Buffer
	src := `import { check, group } from 'k6';
export default function () { group('g', () => check(1, { one: () => true })); }
export function handleSummary(d) {
  return { stdout: [d.version, d.results.checks.results[0].name, d.config.script.length > 0, typeof d.metrics].join(' ') };
}`
	_, err := runner.Run(t.Context(), runner.Config{
		Script: "s.js", Stdout: &out, NewMachineReadableSummary: true,
		FS: scripttest.Files(map[string]string{"s.js": src}),
	})
	require.NoError(t, err)
	assert.Equal(t, "1.0.0 one true undefined", out.String())
}

func TestFullSummaryHasTheGroups(t *testing.T) {
	var out bytes.Buffer
	_, err := runner.Run(t.Context(), runner.Config{
		Script: "s.js", Stdout: &out, SummaryMode: summary.Full,
		FS: scripttest.Files(map[string]string{"s.js": `import { check, group } from 'k6';
			export default function () { group('outer', () => check(1, { one: () => true })); }`}),
	})
	require.NoError(t, err)
	assert.Contains(t, out.String(), "\nGROUP outer\n  100.00% passed: 1 of 1")
}

func TestAFileThatWasAskedForIsWrittenWithoutASummary(t *testing.T) {
	dir := t.TempDir()
	export, sketches := filepath.Join(dir, "e.json"), filepath.Join(dir, "s.json")
	var out bytes.Buffer
	_, err := runner.Run(t.Context(), runner.Config{
		Script: "s.js", Stdout: &out, SummaryMode: summary.Disabled, SummaryExport: export, SummarySketches: sketches,
		FS: scripttest.Files(map[string]string{"s.js": "export default function () {} export function handleSummary() { return { stdout: 'x' } }"}),
	})
	require.NoError(t, err)
	assert.Empty(t, out.String())
	var flat struct{ Metrics map[string]any }
	read(t, export, &flat)
	assert.Contains(t, flat.Metrics, "iterations")
	var file summary.Sketches
	b, err := os.ReadFile(sketches)
	require.NoError(t, err)
	require.ErrorContains(t, json.Unmarshal(b[:len(b)/2], &file), "unexpected end")
	require.NoError(t, json.Unmarshal(b, &file))
	assert.Equal(t, summary.SketchesFormat, file.Format)
}
