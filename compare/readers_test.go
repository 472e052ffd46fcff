package compare

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, file string) content {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	require.NoError(t, err)
	defer f.Close()
	c, err := parse(f)
	require.NoError(t, err)
	return c
}

func TestEachShapeIsToldByItsContent(t *testing.T) {
	for file, want := range map[string]Shape{
		"k6/summary-export-default.json":          Export,
		"k6/summary-export-empty-thresholds.json": Export,
		"k6/handlesummary-compact.json":           HandleSummary,
		"k6/summary-export-machine.json":          MachineReadable,
		"k6/handlesummary-machine.json":           MachineReadable,
		"k6/ndjson-head.ndjson":                   Samples,
		"service/samples.json.gz":                 Samples,
		"service/flat-app-metrics.json":           Snapshot,
		"sketches/small.json":                     Sketches,
		"sketches/large.json":                     Sketches,
	} {
		require.Equal(t, want, read(t, file).shape, file)
	}
}

// Three files of one run of k6 v2.2.0: all that each of them holds is the same.
func TestAllShapesOfARunSayTheSame(t *testing.T) {
	flat, nested, lines := read(t, "service/flat-summary.json"), read(t, "service/handlesummary.json"), read(t, "service/samples.json.gz")
	require.Len(t, nested.metrics, len(flat.metrics))
	for name, metric := range nested.metrics {
		require.Equal(t, metric.Type, flat.metrics[name].Type, name)
		require.Equal(t, metric.Values, flat.metrics[name].Values, name)
		line, ok := lines.metrics[name]
		require.True(t, ok, name)
		require.Equal(t, metric.Type, line.Type, name)
		require.Equal(t, metric.Contains, line.Contains, name)
		for key, want := range metric.Values {
			switch key {
			case "rate": // the time of the run is not in the stream
				require.InEpsilon(t, 1+want, 1+line.Values[key], 0.02, name)
			default:
				require.InDelta(t, want, line.Values[key], 1e-9+1e-12*want, "%s %s", name, key)
			}
		}
	}
}

func TestTheMachineReadableShapesSayTheSame(t *testing.T) {
	export, handled := read(t, "service/machine-export.json").metrics, read(t, "service/machine-handlesummary.json").metrics
	require.Equal(t, export, handled)
	require.InEpsilon(t, 30/export["iterations"].Values["rate"], 1.77, 0.05, "the rate is the count over config.duration")
	require.Equal(t, map[string]float64{"passes": 29, "fails": 1, "value": 29.0 / 30}, export["checks"].Values)
	require.Contains(t, export["all_attempt_latency"].Values, "p(95)")
	require.NotContains(t, export["all_attempt_latency"].Values, "p(99)", "which k6 does not write there")
}

func TestThresholdsHoldOrDoNotInBothShapes(t *testing.T) {
	for _, file := range []string{"k6/summary-export-default.json", "k6/handlesummary-compact.json"} {
		metrics := read(t, file).metrics
		require.Equal(t, map[string]bool{"value<10": false}, metrics["res_state"].Thresholds, file)
		require.Equal(t, map[string]bool{"p(99)<500": true, "avg<0.0001": false}, metrics["res_latency"].Thresholds, file)
		require.Nil(t, metrics["http_reqs"].Thresholds, file)
	}
}

func TestWhatASummaryDoesNotHoldIsMissing(t *testing.T) {
	metrics := read(t, "k6/summary-export-empty-thresholds.json").metrics
	require.Equal(t, map[string]float64{"passes": 0, "fails": 0}, metrics["rr"].Values, "the share of nothing is not 0")
	c, err := parseObject([]byte(`{"metrics":{"t":{"type":"trend","contains":"time","values":{"count":0,"avg":0,"p(95)":0}}}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"count": 0}, c.metrics["t"].Values)
	for _, run := range []Run{{Metrics: metrics}, {Metrics: Metrics{}}, {}} {
		for _, c := range Columns() {
			if c.number == nil {
				continue
			}
			v, known := c.number(run)
			require.False(t, known && c.Name != "k6_http_req_failed_rate" && c.Name != "repetitions", "%s is %v", c.Name, v)
		}
	}
}

func TestFilesThatAreNoSummary(t *testing.T) {
	deep := strings.Repeat(`{"metrics":`, 20_000)
	nestedGroups := strings.Repeat(`{"groups":[`, 200) + strings.Repeat(`]}`, 200)
	line := `{"metric":"a","type":"Point","data":{"time":"2026-11-29T23:52:32Z","value":1,"tags":{}}}`
	define := `{"type":"Metric","data":{"name":"a","type":"trend","contains":"time","thresholds":[],"submetrics":null},"metric":"a"}`
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "unexpected end"},
		{"spaces", " \r\n", "unexpected end"},
		{"not JSON", "hello", "invalid character"},
		{"list", "[1]", `"[1]" where an object belongs`},
		{"truncated", `{"metrics":{"a":{"count":1`, "unexpected end"},
		{"deeply nested", deep, "exceeded max depth"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "UTF-16"},
		{"broken gzip", "\x1f\x8b\x08", "unexpected EOF"},
		{"other schema", `{"schema":"retrylab/comparison/1"}`, `schema is "retrylab/comparison/1"`},
		{"metrics of another type", `{"metrics":[]}`, `metrics: "[]" where an object belongs`},
		{"metric of another type", `{"metrics":{"a":3}}`, `metric "a": "3" where an object belongs`},
		{"NaN as a word", `{"metrics":{"a":{"avg":"NaN"}}}`, `metric "a": avg is no number: "\"NaN\""`},
		{"Infinity as a word", `{"metrics":{"a":{"type":"trend","values":{"max":"Infinity"}}}}`, "max is no number"},
		{"NaN", `{"metrics":{"a":{"avg":NaN}}}`, "invalid character 'N'"},
		{"too large a number", `{"metrics":{"a":{"avg":1e999}}}`, "avg is no number"},
		{"metric twice", `{"metrics":{"a":{"count":1,"rate":1},"a":{"count":2,"rate":1}}}`, `the key "a" is there twice`},
		{"value twice", `{"metrics":{"a":{"count":1,"count":2,"rate":1}}}`, `metric "a": the key "count" is there twice`},
		{"metrics twice", `{"metrics":{},"metrics":{}}`, `the key "metrics" is there twice`},
		{"two shapes", `{"metrics":{"a":{"count":1,"rate":1},"b":{"type":"counter","values":{}}}}`, "has the shape of handleSummary"},
		{"type unknown", `{"metrics":{"b":{"type":"meter","values":{}}}}`, `"\"meter\"" is none of`},
		{"threshold", `{"metrics":{"a":{"count":1,"rate":1,"thresholds":{"x":3}}}}`, `threshold "x"`},
		{"negative", `{"metrics":{"a":{"passes":-1,"fails":1,"value":0}}}`, "below 0"},
		{"machine-readable 2", `{"version":"2.0.0","results":{}}`, `version "\"2.0.0\""`},
		{"machine-readable, wrong", `{"version":"1.0.0","results":[]}`, "results: "},
		{"machine-readable, twice", `{"version":"1.0.0","results":{"metrics":[{"name":"a","type":"counter"},{"name":"a","type":"counter"}]}}`, "there twice"},
		{"snapshot", `{"totalRequests":"many"}`, "totalRequests is no number"},
		{"sketches 2", `{"format":"retrylab-sketches","version":2}`, "version 2 of the sketches"},
		{"sketch without its type", `{"format":"retrylab-sketches","version":1,"start":"2026-01-02T15:04:05Z","metrics":[{"name":"a","type":"trend"}]}`, "it is a trend, and has no trend"},
		{"sketch that is none", `{"format":"retrylab-sketches","version":1,"start":"2026-01-02T15:04:05Z","metrics":[{"name":"a","type":"trend","trend":{"count":2,"sum":1,"min":1,"max":1,"sketch":"AAAA"}}]}`, `metric "a": its sketch`},
		{"values that are not all", `{"format":"retrylab-sketches","version":1,"start":"2026-01-02T15:04:05Z","metrics":[{"name":"a","type":"trend","trend":{"count":2,"sum":1,"min":1,"max":1,"values":[1]}}]}`, "it has 1 values, and says 2"},
		{"no time", `{"format":"retrylab-sketches","version":1}`, "no time of a run"},
		{"sample without its metric", line, `line 1: a sample of "a", whose type no line before says`},
		{"sample cut off", define + "\n" + line + "\n" + line[:40], "line 3: unexpected end"},
		{"sample of a word", define + "\n" + strings.Replace(line, `:1,`, `:"NaN",`, 1), `line 2: its value "\"NaN\"" is no number`},
		{"sample of NaN", define + "\n" + strings.Replace(line, `:1,`, `:NaN,`, 1), "line 2: invalid character"},
		{"sample of null", define + "\n" + strings.Replace(line, `:1,`, `:null,`, 1), "line 2: its value"},
		{"sample at no time", define + "\n" + strings.Replace(line, "23:52", "25:52", 1), "line 2: its time"},
		{"value of a sample twice", define + "\n" + strings.Replace(line, `"tags"`, `"value":2,"tags"`, 1), `line 2: data: the key "value" is there twice`},
		{"metric with two types", define + "\n" + strings.Replace(define, "trend", "rate", 1), `line 2: metric "a" is a trend and a rate`},
		{"another line", define + "\n{}", "line 2: its type"},
		{"endless line", define + "\n" + strings.Repeat("x", maxLine+bufferSize), "line 2 is longer than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(strings.NewReader(c.text))
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := readChecks([]byte(nestedGroups))
	require.ErrorContains(t, err, "groups within each other")
}

func TestHarmlessOdditiesAreRead(t *testing.T) {
	const text = "{\"metrics\":\r\n{\"a\":{\"count\":1,\"rate\":2}}}\r\n"
	for name, data := range map[string]string{
		"plain": text, "BOM": "\xef\xbb\xbf" + text, "spaces before": "\r\n\t " + text, "gzip": gzipped(t, text), "gzip of BOM": gzipped(t, "\xef\xbb\xbf"+text),
	} {
		c, err := parse(strings.NewReader(data))
		require.NoError(t, err, name)
		require.Equal(t, 1.0, c.metrics["a"].Values["count"], name)
	}
	lines, err := os.ReadFile("testdata/k6/ndjson-head.ndjson")
	require.NoError(t, err)
	want := read(t, "k6/ndjson-head.ndjson").metrics
	for name, data := range map[string]string{
		"CRLF": strings.ReplaceAll(string(lines), "\n", "\r\n"), "BOM": "\xef\xbb\xbf" + string(lines),
		"empty lines": "\n\n" + strings.ReplaceAll(string(lines), "\n", "\n\n"), "no newline at the end": strings.TrimRight(string(lines), "\n"),
		"other order of keys": strings.ReplaceAll(string(lines), `"type":"Point",`, `"type": "Point",`),
	} {
		c, err := parse(strings.NewReader(data))
		require.NoError(t, err, name)
		require.Equal(t, Samples, c.shape, name)
		require.Equal(t, want, c.metrics, name)
	}
}

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func TestSubmetricsOfAStreamHaveTheSamplesWithTheirTags(t *testing.T) {
	metrics := read(t, "k6/ndjson-head.ndjson").metrics
	require.Equal(t, map[string]float64{"passes": 1, "fails": 1, "value": .5}, metrics["checks{group:::grp}"].Values, "and not those of ::grp::inner")
	require.Equal(t, map[string]float64{"passes": 2, "fails": 1, "value": 2.0 / 3}, metrics["checks"].Values)
	require.NotContains(t, metrics, "http_req_duration{policy:none}", "no sample has the tag")
}

// The published experiment's own names, and the snapshot of its service, in its
// older words too.
func TestNamesOfThePublishedExperiment(t *testing.T) {
	for _, observation := range []string{"concurrencyObservation", "saturationObservation"} {
		dir := t.TempDir()
		for from, to := range map[string]string{"flat-summary.json": "03-jitter-random-failures-summary.json", "flat-app-metrics.json": "03-jitter-random-failures-app-metrics.json"} {
			data, err := os.ReadFile("testdata/service/" + from)
			require.NoError(t, err)
			data = bytes.ReplaceAll(data, []byte("concurrencyObservation"), []byte(observation))
			require.NoError(t, os.WriteFile(filepath.Join(dir, to), data, 0o600))
		}
		runs, warnings, err := Read(dir)
		require.NoError(t, err)
		require.Empty(t, warnings)
		require.Len(t, runs, 1)
		require.Equal(t, []any{3, "jitter", "random-failures"}, []any{runs[0].Number, runs[0].Policy.Name, runs[0].Scenario.Name})
		row := Build(runs).Rows[0]
		for name, want := range map[string]float64{
			"total_requests": 30, "successful_requests": 29, "failed_requests": 1, "success_rate": 29.0 / 30,
			"downstream_calls": 38, "retry_amplification_factor": 38.0 / 30, "retry_attempts": 8, "timeout_count": 0,
			"circuit_breaker_rejected": 0, "bulkhead_rejected": 0, "rejected": 0, "max_inflight_downstream": 4, "max_inflight_caller": 4,
		} {
			stat := row.Stat(Column{Name: name})
			require.True(t, stat.Known(), name)
			require.InDelta(t, want, stat.Value, 1e-9, name)
		}
		require.False(t, row.Stat(Column{Name: "downstream_received"}).Known(), "its downstream_calls are the caller's count")
		require.Equal(t, "low", row.concurrency())
		require.InDelta(t, 123.0781, row.Stat(Column{Name: "all_attempt_p95_ms"}).Value, 1e-6)
	}
}

func TestASnapshotAloneIsARun(t *testing.T) {
	runs, warnings, err := Read("testdata/service/flat-app-metrics.json")
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, Export, runs[0].Shape, "the summary beside it goes before")
	data, err := os.ReadFile("testdata/service/flat-app-metrics.json")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "alone.json")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	runs, warnings, err = Read(path)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, Snapshot, runs[0].Shape)
	n, _ := runs[0].requests()
	goodput, _ := runs[0].goodput()
	require.Equal(t, 30.0, n)
	require.InDelta(t, 16.739, goodput, .001)
}

func TestASnapshotOfNothingHasNoPercentiles(t *testing.T) {
	c, err := parseObject([]byte(`{"totalRequests":0,"successfulRequests":0,"downstreamCalls":0,"allAttemptLatencyP95Ms":0,"successLatencyP95Ms":0}`))
	require.NoError(t, err)
	require.NotContains(t, c.metrics, "resilience_attempt_duration")
	require.NotContains(t, c.metrics, "resilience_success_duration")
	require.NotContains(t, c.metrics["resilience_success"].Values, "value")
}

func TestMappedNames(t *testing.T) {
	const file = "testdata/k6/summary-export-default.json"
	reader := Reader{Names: map[string]string{
		"total_requests": "iterations", "downstream_calls": "res_attempts", "request_failed": "http_req_failed", "all_attempt_latency": "res_latency",
	}}
	runs, warnings, err := reader.Read(file)
	require.NoError(t, err)
	require.Empty(t, warnings)
	row := Build(runs).Rows[0]
	for name, want := range map[string]float64{"total_requests": 31, "successful_requests": 19, "downstream_calls": 31, "retry_amplification_factor": 1, "all_attempt_p95_ms": 49.7784425} {
		require.InDelta(t, want, row.Stat(Column{Name: name}).Value, 1e-9, name)
	}
	for _, name := range []string{"retry_attempts", "timeout_count", "rejected", "downstream_received"} {
		require.False(t, row.Stat(Column{Name: name}).Known(), "%s: a script of one's own that does not count it says nothing of it", name)
	}
	require.Equal(t, []string{"res_attempts"}, runs[0].Metrics["resilience_downstream_calls"].Of)

	_, _, err = Reader{Names: map[string]string{"downstream_call": "x"}}.Read(file)
	require.ErrorContains(t, err, `map downstream_call=x: unknown figure "downstream_call"; known are total_requests, successful_requests,`)
	_, _, err = Reader{Names: map[string]string{"downstream_calls": ""}}.Read(file)
	require.ErrorContains(t, err, "no metric is named")
	_, warnings, err = Reader{Names: map[string]string{"downstream_calls": "res_latency"}}.Read(file)
	require.ErrorIs(t, err, ErrNoRuns)
	require.Equal(t, `metric "res_latency" is a trend: downstream_calls needs a counter: left out`, warnings[0].Reason)
	_, warnings, err = Reader{Names: map[string]string{"downstream_calls": "no_such"}}.Read(file)
	require.NoError(t, err)
	require.Equal(t, []Warning{{"--map downstream_calls=no_such", "no summary has a metric of this name"}}, warnings)
}

func TestOwnMetricsGoBeforePublishedNames(t *testing.T) {
	c, err := parseObject([]byte(`{"metrics":{"resilience_requests":{"count":5,"rate":1},"downstream_calls":{"count":9,"rate":1},"timeout_count":{"count":7,"rate":1}}}`))
	require.NoError(t, err)
	require.NoError(t, c.metrics.adopt(nil, map[string]bool{}))
	run := Run{Metrics: c.metrics}
	received, _ := run.received()
	require.Equal(t, 9.0, received, "our scripts have the server's count under downstream_calls")
	timeouts, known := run.Metrics.ours("resilience_timeouts")
	require.True(t, known && timeouts == 0, "a counter of ours that never fired")
}

func TestPublishedCountsWithoutEachOther(t *testing.T) {
	for _, c := range []struct {
		name, metrics       string
		requests, successes float64
	}{
		{"both", `"successful_requests":{"count":7,"rate":1},"failed_requests":{"count":3,"rate":1}`, 10, 7},
		{"no request failed", `"successful_requests":{"count":7,"rate":1},"request_failed":{"passes":0,"fails":7,"value":0}`, 7, 7},
		{"all failed", `"failed_requests":{"count":7,"rate":1},"request_failed":{"passes":7,"fails":0,"value":1}`, 7, 0},
		{"the rate alone", `"request_failed":{"passes":2,"fails":5,"value":0.3}`, 7, 5},
	} {
		got, err := parseObject([]byte(`{"metrics":{` + c.metrics + `}}`))
		require.NoError(t, err, c.name)
		require.NoError(t, got.metrics.adopt(nil, map[string]bool{}), c.name)
		run := Run{Metrics: got.metrics}
		n, _ := run.requests()
		s, _ := run.successes()
		require.Equal(t, []float64{c.requests, c.successes}, []float64{n, s}, c.name)
	}
	c, err := parseObject([]byte(`{"metrics":{"successful_requests":{"count":7,"rate":1}}}`))
	require.NoError(t, err)
	require.NoError(t, c.metrics.adopt(nil, map[string]bool{}))
	require.NotContains(t, c.metrics, requests, "how many failed is not known")
}

func TestMetricsOfMergedFilesAreRead(t *testing.T) {
	whole, err := Merge("testdata/sketches/small.json", "testdata/sketches/large.json")
	require.NoError(t, err)
	data, err := json.Marshal(whole)
	require.NoError(t, err)
	c, err := parseObject(data)
	require.NoError(t, err)
	require.Equal(t, HandleSummary, c.shape)
	require.Equal(t, whole.Metrics, c.metrics)
	require.InDelta(t, whole.Duration.Seconds(), c.seconds, 1e-9)
	checks, err := readChecks(c.rootGroup)
	require.NoError(t, err)
	require.Equal(t, whole.checks, checks)
}

func TestAFileThatChangesWhileItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "growing.json")
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	err := steady(path, func(in io.Reader) error {
		_, err := io.ReadAll(in)
		require.NoError(t, err)
		return os.WriteFile(path, []byte(`{"metrics":{}}`), 0o600)
	})
	require.EqualError(t, err, "it changed while it was read")
	require.NoError(t, steady(path, func(in io.Reader) error {
		_, err := parse(in)
		return err
	}))
}
