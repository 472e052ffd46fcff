package compare_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
)

// stream writes samples of a counter, a rate, a gauge and a trend as -o json does,
// one of each for a value.
func stream(t *testing.T, path string, begin time.Time, values []float64) string {
	t.Helper()
	var b strings.Builder
	for _, m := range [][2]string{{"calls", "counter"}, {"failed", "rate"}, {"level", "gauge"}, {"latency", "trend"}} {
		fmt.Fprintf(&b, `{"type":"Metric","data":{"name":%q,"type":%q,"contains":"default","thresholds":[],"submetrics":null},"metric":%q}`+"\n", m[0], m[1], m[0])
	}
	for i, v := range values {
		at := begin.Add(time.Duration(i) * time.Millisecond).Format(time.RFC3339Nano)
		for metric, value := range map[string]float64{"calls": 2, "failed": float64(i % 3), "level": v, "latency": v} {
			text, err := json.Marshal(value)
			require.NoError(t, err)
			fmt.Fprintf(&b, `{"metric":%q,"type":"Point","data":{"time":%q,"value":%s,"tags":{"a":"b"}}}`+"\n", metric, at, text)
		}
	}
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// Shards below and beyond what is kept as it is: sums are those of all, and
// percentiles within the sketch's error of those of all samples together.
func TestMergedShardsAreTheWhole(t *testing.T) {
	for _, sizes := range [][]int{{500, 500, 500}, {33_000, 1000, 500}, {10, 1000, 33_000}} {
		dir, random := t.TempDir(), rand.New(rand.NewPCG(1, uint64(sizes[0])))
		begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		var all []float64
		passes, last := 0.0, time.Duration(0)
		for shard, n := range sizes {
			passes += float64(n - (n+2)/3)
			last = max(last, time.Duration(shard)*time.Second+time.Duration(n-1)*time.Millisecond)
			values := make([]float64, n)
			for i := range values {
				values[i] = math.Exp(random.NormFloat64()*float64(1+shard) + 3)
			}
			stream(t, filepath.Join(dir, fmt.Sprintf("%d.ndjson", shard)), begin.Add(time.Duration(shard)*time.Second), values)
			all = append(all, values...)
		}
		whole, err := compare.Merge(dir)
		require.NoError(t, err)
		require.Empty(t, whole.Refused)
		require.Len(t, whole.Shards, 3)
		slices.Sort(all)
		calls, failed, level, latency := whole.Metrics["calls"].Values, whole.Metrics["failed"].Values, whole.Metrics["level"].Values, whole.Metrics["latency"].Values
		n := float64(len(all))
		require.Equal(t, 2*n, calls["count"])
		require.InDelta(t, 2*n/last.Seconds(), calls["rate"], 1e-6)
		require.Equal(t, []float64{passes, n - passes}, []float64{failed["passes"], failed["fails"]})
		require.Equal(t, []float64{all[0], all[len(all)-1]}, []float64{level["min"], level["max"]})
		require.Equal(t, n, latency["count"])
		require.Equal(t, []float64{all[0], all[len(all)-1]}, []float64{latency["min"], latency["max"]})
		for key, p := range map[string]float64{"med": 50, "p(90)": 90, "p(95)": 95, "p(99)": 99, "p(99.9)": 99.9} {
			pos := p / 100 * float64(len(all)-1)
			lo, hi := all[int(math.Floor(pos))], all[int(math.Ceil(pos))]
			if n < 2000 {
				require.InDelta(t, lo+(hi-lo)*(pos-math.Floor(pos)), latency[key], 1e-9, key)
				continue
			}
			require.GreaterOrEqual(t, latency[key], lo*(1-.001), key)
			require.LessOrEqual(t, latency[key], hi*(1+.001), key)
		}
	}
}

func TestShardsThatDifferInTheirEndingAreAllMerged(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, name := range []string{"p1.ndjson", "p1.json", "p3.ndjson", "p1.summary.json"} {
		paths = append(paths, stream(t, filepath.Join(dir, name), time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC), []float64{1}))
	}
	for _, given := range [][]string{paths, {filepath.Join(dir, "p*")}} {
		whole, err := compare.Merge(given...)
		require.NoError(t, err)
		require.Len(t, whole.Shards, 4)
		require.Equal(t, 8.0, whole.Metrics["calls"].Values["count"])
		require.Empty(t, whole.Refused)
	}
	run := write(t, dir, "p5.run.json", "{}")
	whole, err := compare.Merge(append(paths, run)...)
	require.NoError(t, err)
	require.Len(t, whole.Refused, 1)
	require.Equal(t, run+": no summary is beside it: what is merged lacks its run", whole.Refused[0].String())
}

// Whatever the order of the shards, the value of a gauge is the latest.
func TestLatestValueOfAGaugeWins(t *testing.T) {
	dir := t.TempDir()
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	early := stream(t, filepath.Join(dir, "early.ndjson"), begin, []float64{1, 2, 3})
	late := stream(t, filepath.Join(dir, "late.ndjson"), begin.Add(time.Minute), []float64{9, 8, 7})
	for _, paths := range [][]string{{early, late}, {late, early}} {
		whole, err := compare.Merge(paths...)
		require.NoError(t, err)
		require.Equal(t, map[string]float64{"value": 7, "min": 1, "max": 9}, whole.Metrics["level"].Values)
	}
}

func TestPercentilesOfPlainSummariesAreRefused(t *testing.T) {
	dir := t.TempDir()
	a := write(t, dir, "a.json", `{"metrics":{"n":{"count":3,"rate":1},"r":{"passes":1,"fails":2,"value":0.3},"g":{"value":5,"min":1,"max":9},"t":{"avg":2,"min":1,"max":4,"p(95)":4,"count":3}}}`)
	b := write(t, dir, "b.json", `{"metrics":{"n":{"count":4,"rate":2},"r":{"passes":4,"fails":0,"value":1},"g":{"value":3,"min":0,"max":7},"t":{"avg":5,"min":5,"max":5,"p(95)":5,"count":1}}}`)
	whole, err := compare.Merge(a, b)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"count": 7, "rate": 7.0 / 3}, whole.Metrics["n"].Values)
	require.Equal(t, map[string]float64{"passes": 5, "fails": 2, "value": 5.0 / 7}, whole.Metrics["r"].Values)
	require.Equal(t, map[string]float64{"value": 3, "min": 0, "max": 9}, whole.Metrics["g"].Values)
	require.Equal(t, map[string]float64{"count": 4, "avg": 11.0 / 4, "min": 1, "max": 5}, whole.Metrics["t"].Values)
	require.Len(t, whole.Refused, 1)
	require.Contains(t, whole.Refused[0].String(), "a.json: a plain summary: the percentiles of t are refused")

	uncounted := write(t, dir, "c.json", `{"metrics":{"t":{"avg":5,"min":5,"max":6}}}`)
	whole, err = compare.Merge(a, uncounted)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"min": 1, "max": 6}, whole.Metrics["t"].Values)
}

func TestShardsThatDoNotBelongTogether(t *testing.T) {
	dir := t.TempDir()
	sketch := func(name, segment, metric string) string {
		return write(t, dir, name, fmt.Sprintf(`{"format":"retrylab-sketches","version":1,"start":"2026-01-02T15:04:05.%dZ","duration_ms":5,"segment":%q,"metrics":[%s]}`,
			len(name)*7+int(name[0]), segment, metric))
	}
	counter := `{"name":"n","type":"counter","contains":"default","counter":{"sum":3}}`
	a := sketch("a.json", "0:1/2", counter)
	for _, c := range []struct{ name, file, want string }{
		{"another type", sketch("b1.json", "1/2:1", `{"name":"n","type":"rate","contains":"default","rate":{"passes":1,"total":2}}`), `metric "n" is a rate, and a counter in a shard before it`},
		{"overlap", sketch("c12.json", "25%:1", counter), "its segment 25%:1 overlaps 0:1/2 of " + a},
		{"no segment", sketch("d123.json", "1:0", counter), `segment "1:0" is none`},
		{"huge exponent", sketch("e1234.json", "0:1e999999999", counter), `segment "0:1e999999999" is none`},
		{"corrupt", write(t, dir, "corrupt.json", "{"), "corrupt.json: not a k6 summary"},
		{"absent", filepath.Join(dir, "absent.json"), "absent.json: no such file"},
	} {
		_, err := compare.Merge(a, c.file)
		require.ErrorContains(t, err, c.want, c.name)
	}
	_, err := compare.Merge(a)
	require.ErrorContains(t, err, "1 shards: at least 2 are needed")
	data, err := os.ReadFile(a)
	require.NoError(t, err)
	_, err = compare.Merge(a, write(t, dir, "copy.json", string(data)))
	require.ErrorContains(t, err, "copy.json: it is the same run as "+a)

	whole, err := compare.Merge(a, sketch("f12345.json", "3/4:1", counter))
	require.NoError(t, err)
	require.Equal(t, 6.0, whole.Metrics["n"].Values["count"])
	require.Len(t, whole.Refused, 1)
	require.Contains(t, whole.Refused[0].Reason, "no shard is the segment 1/2:3/4")
	whole, err = compare.Merge(a, sketch("g123456.json", "0.5:1", counter))
	require.NoError(t, err)
	require.Empty(t, whole.Refused)
	whole, err = compare.Merge(a, sketch("h1234567.json", "1/2:3/4", counter))
	require.NoError(t, err)
	require.Len(t, whole.Refused, 1)
	require.Contains(t, whole.Refused[0].Reason, "no shard is the segment 3/4:1", "the last one")
}

// A build before the metric has calls and no count of the requests that made them.
func TestCountOfAdmittedRequestsIsThatOfAllShardsOrNone(t *testing.T) {
	dir := t.TempDir()
	shard := func(name string, calls, admitted int) string {
		path := filepath.Join(dir, name)
		text := fmt.Sprintf(`{"metrics":{"resilience_requests":{"count":100,"rate":10},"resilience_downstream_calls":{"count":%d,"rate":20}`, calls)
		if calls == 0 {
			text = `{"metrics":{"resilience_requests":{"count":100,"rate":10}`
		}
		if admitted > 0 {
			text += fmt.Sprintf(`,"resilience_admitted":{"count":%d,"rate":10}`, admitted)
		}
		require.NoError(t, os.WriteFile(path, []byte(text+"}}"), 0o600))
		return path
	}
	one, two := shard("1.summary.json", 200, 90), shard("2.summary.json", 201, 91)
	idle, older := shard("3.summary.json", 0, 0), shard("4.summary.json", 202, 0)

	whole, err := compare.Merge(one, two, idle)
	require.NoError(t, err)
	require.Equal(t, 181.0, whole.Metrics["resilience_admitted"].Values["count"], "a shard without calls admitted none")
	require.Empty(t, whole.Refused)

	whole, err = compare.Merge(one, two, older)
	require.NoError(t, err)
	require.NotContains(t, whole.Metrics, "resilience_admitted")
	require.Equal(t, 603.0, whole.Metrics["resilience_downstream_calls"].Values["count"])
	require.Len(t, whole.Refused, 1)
	require.Contains(t, whole.Refused[0].String(), "4.summary.json: it has calls and no resilience_admitted")

	whole, err = compare.Merge(older, shard("5.summary.json", 203, 0))
	require.NoError(t, err)
	require.Empty(t, whole.Refused, "no shard has it")
}
