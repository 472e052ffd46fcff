package output

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/thresholds"
)

func fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(b)
}

// written is what an output of these arguments writes for the samples.
func written(t *testing.T, p Params, samples []metrics.Sample) string {
	t.Helper()
	var out bytes.Buffer
	p.Stdout = &out
	o, err := Open(p)
	require.NoError(t, err)
	o.Add(samples[:len(samples)/2])
	o.Add(samples[len(samples)/2:])
	require.NoError(t, o.Close())
	return out.String()
}

func kindOf(t *testing.T, name string) metrics.Kind {
	t.Helper()
	for _, k := range []metrics.Kind{metrics.Counter, metrics.Gauge, metrics.Rate, metrics.Trend} {
		if k.String() == name {
			return k
		}
	}
	t.Fatalf("no kind %q", name)
	return 0
}

// TestJSONIsK6s reads the beginning of a file of k6's json output and writes
// the same samples.
func TestJSONIsK6s(t *testing.T) {
	want := fixture(t, "ndjson-head.ndjson")
	r := metrics.NewRegistry()
	contents := map[string]metrics.Contains{"default": metrics.Default, "time": metrics.Time, "data": metrics.Data}
	specs := make(map[string][]thresholds.Spec)
	var samples []metrics.Sample
	for line := range strings.Lines(want) {
		var l struct {
			Metric, Type string
			Data         struct {
				Type, Contains string
				Thresholds     []string
				Submetrics     []struct{ Name string }
				Time           time.Time
				Value          float64
				Tags           map[string]string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		if l.Type == "Metric" {
			_, err := r.Register(l.Metric, kindOf(t, l.Data.Type), contents[l.Data.Contains])
			require.NoError(t, err)
			for _, sub := range l.Data.Submetrics {
				_, err := r.Find(sub.Name)
				require.NoError(t, err)
			}
			for _, source := range l.Data.Thresholds {
				specs[l.Metric] = append(specs[l.Metric], thresholds.Spec{Source: source})
			}
			continue
		}
		tags := r.Root()
		for k, v := range l.Data.Tags {
			tags = tags.With(k, v)
		}
		samples = append(samples, metrics.Sample{Metric: r.Get(l.Metric), Tags: tags, Value: l.Data.Value, Time: l.Data.Time.UnixNano()})
	}
	assert.Equal(t, want, written(t, Params{Args: []string{"json"}, Thresholds: specs}, samples))
}

// TestCSVIsK6s reads the beginning of a file of k6's csv output and writes the
// same samples.
func TestCSVIsK6s(t *testing.T) {
	want := fixture(t, "csv-head.csv")
	table, err := csv.NewReader(strings.NewReader(want)).ReadAll()
	require.NoError(t, err)
	r := metrics.NewRegistry()
	var samples []metrics.Sample
	head := table[0]
	for _, row := range table[1:] {
		m, err := r.Register(row[0], metrics.Trend, metrics.Default)
		require.NoError(t, err)
		at, err := strconv.ParseInt(row[1], 10, 64)
		require.NoError(t, err)
		v, err := strconv.ParseFloat(row[2], 64)
		require.NoError(t, err)
		tags := r.Root()
		for i := 3; i < len(row)-2; i++ {
			if row[i] != "" {
				tags = tags.With(head[i], row[i])
			}
		}
		if k, v, ok := strings.Cut(row[len(row)-2], "="); ok {
			tags = tags.With(k, v)
		}
		samples = append(samples, metrics.Sample{Metric: m, Tags: tags, Value: v, Time: at * 1e9})
	}
	assert.Equal(t, want, written(t, Params{Args: []string{"csv=-"}}, samples))
}

// one is a registry with a metric, and a sample of it.
func one(t *testing.T, value float64, tags ...string) []metrics.Sample {
	t.Helper()
	r := metrics.NewRegistry()
	m, err := r.Register("took", metrics.Trend, metrics.Time)
	require.NoError(t, err)
	set := r.Root()
	for i := 0; i < len(tags); i += 2 {
		set = set.With(tags[i], tags[i+1])
	}
	return []metrics.Sample{{Metric: m, Tags: set, Value: value, Time: 1_700_000_000_123_456_789}}
}

func TestThresholdsInJSONThatEndTheRun(t *testing.T) {
	got := written(t, Params{Args: []string{"json=-"}, Thresholds: map[string][]thresholds.Spec{"took": {
		{Source: "avg<1"}, {Source: "max<2", AbortOnFail: true}, {Source: "p(95)<3", AbortOnFail: true, DelayAbortEval: 2 * time.Second},
	}}}, one(t, 1))
	assert.Contains(t, got, `"thresholds":["avg<1",{"threshold":"max<2","abortOnFail":true,"delayAbortEval":null},`+
		`{"threshold":"p(95)<3","abortOnFail":true,"delayAbortEval":"2s"}],"submetrics":null}`)
	assert.Contains(t, got, `"data":{"time":"2023-11-14T22:13:20.123456789Z","value":1,"tags":{}}}`)
}

func TestInfiniteValuesAreLeftOutOfJSONAndSaid(t *testing.T) {
	log, hook := logtest.NewNullLogger()
	samples := append(one(t, math.Inf(1)), one(t, 3)...)
	got := written(t, Params{Args: []string{"json", "csv=-"}, Log: log}, samples)
	assert.Contains(t, got, "+Inf")
	assert.Equal(t, 1, strings.Count(got, `"Point"`))
	require.Len(t, hook.AllEntries(), 1)
	assert.Contains(t, hook.LastEntry().Message, "1 samples with an infinite value")
	assert.Equal(t, logrus.WarnLevel, hook.LastEntry().Level)
}

func TestFilesAreCompressedByTheirName(t *testing.T) {
	dir := t.TempDir()
	for arg, want := range map[string]string{"json": `"value":1.5,"tags":{"a":"<b> & \"c\""}}}`, "csv": "took,1700000000,1.500000,"} {
		plain, zipped := filepath.Join(dir, arg), filepath.Join(dir, arg+".gz")
		o, err := Open(Params{Args: []string{arg + "=" + plain, arg + "=" + zipped}})
		require.NoError(t, err)
		o.Add(one(t, 1.5, "a", `<b> & "c"`))
		require.NoError(t, o.Close())
		require.NoError(t, o.Close(), "twice")
		text, err := os.ReadFile(plain)
		require.NoError(t, err)
		assert.Contains(t, string(text), want)
		f, err := os.Open(zipped)
		require.NoError(t, err)
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		unzipped, err := io.ReadAll(z)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		assert.Equal(t, string(text), string(unzipped))
	}
}

func TestCSVSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	at := time.Unix(0, 1_700_000_000_123_456_789)
	for name, c := range map[string]struct {
		arg   string
		env   map[string]string
		file  string
		flush time.Duration
		stamp string
	}{
		"default":     {file: "file.csv", flush: time.Second, stamp: "1700000000"},
		"a file":      {arg: "x.csv", file: "x.csv", flush: time.Second, stamp: "1700000000"},
		"environment": {env: map[string]string{"K6_CSV_FILENAME": "e.csv", "K6_CSV_SAVE_INTERVAL": "250ms", "K6_CSV_TIME_FORMAT": "unix_milli"}, file: "e.csv", flush: 250 * time.Millisecond, stamp: "1700000000123"},
		"argument":    {arg: "fileName=y.csv,saveInterval=5000,timeFormat=rfc3339_nano", env: map[string]string{"K6_CSV_TIME_FORMAT": "unix_milli"}, file: "y.csv", flush: 5 * time.Second, stamp: "2023-11-14T22:13:20.123456789Z"},
		"rfc3339":     {arg: "timeFormat=RFC3339", file: "file.csv", flush: time.Second, stamp: "2023-11-14T22:13:20Z"},
		"unix_micro":  {arg: "timeFormat=unix_micro", file: "file.csv", flush: time.Second, stamp: "1700000000123456"},
		"unix_nano":   {arg: "timeFormat=unix_nano", file: "file.csv", flush: time.Second, stamp: "1700000000123456789"},
	} {
		got, err := parseCSV(c.env, c.arg)
		require.NoError(t, err, name)
		assert.Equal(t, c.file, got.file, name)
		assert.Equal(t, c.flush, got.flush, name)
		assert.Equal(t, c.stamp, got.stamp(at), name)
	}
	for _, c := range []struct {
		arg  string
		env  map[string]string
		want string
	}{
		{"saveInterval=fast", nil, `saveInterval: "fast" is no duration above 0`},
		{"saveInterval=0s", nil, `"0s" is no duration above 0`},
		{"timeFormat=stardate", nil, `timeFormat: "stardate" is none of rfc3339, rfc3339_nano, unix, unix_micro, unix_milli, unix_nano`},
		{"fileName=", nil, `"fileName=" is no setting of the csv output`},
		{"color=red", nil, `"color=red" is no setting of the csv output: want fileName, saveInterval, timeFormat`},
		{"", map[string]string{"K6_CSV_TIME_FORMAT": "x"}, `K6_CSV_TIME_FORMAT: "x" is none of`},
	} {
		_, err := parseCSV(c.env, c.arg)
		require.ErrorContains(t, err, c.want)
	}
}

func TestColumnsAreTheSystemTagsInForce(t *testing.T) {
	got := written(t, Params{Args: []string{"csv=-"}, SystemTags: []string{"url", "ip"}},
		one(t, 1, "ip", "127.0.0.1", "status", "200", "zone", "b", "app", "x,y"))
	assert.Equal(t, "metric_name,timestamp,metric_value,ip,url,extra_tags,metadata\n"+
		"took,1700000000,1.000000,127.0.0.1,,\"app=x,y&zone=b\",\n", got)
}

func TestIterationAndVUAreMetadata(t *testing.T) {
	samples := one(t, 1, "iter", "7", "vu", "2", "zone", "b")
	got := written(t, Params{Args: []string{"csv=-"}, SystemTags: []string{"vu", "url", "iter"}}, samples)
	assert.Equal(t, "metric_name,timestamp,metric_value,url,extra_tags,metadata\ntook,1700000000,1.000000,,zone=b,iter=7&vu=2\n", got)
	got = written(t, Params{Args: []string{"json"}}, samples)
	assert.Contains(t, got, `"value":1,"tags":{"zone":"b"},"metadata":{"iter":"7","vu":"2"}}}`)
}

func TestOtherOutputsAreRefusedByName(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(Params{Args: []string{"json=" + filepath.Join(dir, "a"), "influxdb=http://x", "cloud", "csv=" + filepath.Join(dir, "no", "b")}})
	require.ErrorContains(t, err, `output "influxdb=http://x": "influxdb" is not in the built-in runner, which has json and csv; use a k6 build`)
	require.ErrorContains(t, err, `"cloud" is not in the built-in runner`)
	require.ErrorIs(t, err, os.ErrNotExist)
}

type failing struct{ writes int }

func (f *failing) Write([]byte) (int, error) {
	f.writes++
	return 0, errors.New("disk full")
}

func TestAWriteErrorIsToldOnceAndNothingMoreIsWritten(t *testing.T) {
	w := &failing{}
	o, err := Open(Params{Args: []string{"json"}, Stdout: w})
	require.NoError(t, err)
	samples := one(t, 1)
	for range 2000 {
		o.Add(samples)
	}
	require.EqualError(t, o.Close(), `write the output "stdout": disk full`)
	assert.Equal(t, 1, w.writes)
}

func TestSamplesAreFlushedWhileTheRunGoesOn(t *testing.T) {
	var out bytes.Buffer
	f, err := openFile(&out, "-", time.Nanosecond, &ndjson{})
	require.NoError(t, err)
	f.add(one(t, 1))
	assert.Contains(t, out.String(), `"Point"`)
	require.NoError(t, f.close())
}

func TestTheCacheOfTagsIsBounded(t *testing.T) {
	c, root := make(cached[int]), metrics.NewRegistry().Root()
	for i := range 10_000 {
		assert.Equal(t, i, c.get(root.With("url", strconv.Itoa(i)), func(*metrics.TagSet) int { return i }))
	}
	assert.LessOrEqual(t, len(c), 4096)
}

// FuzzWrittenSamplesAreRead has both outputs read back as what they were made
// of.
func FuzzWrittenSamplesAreRead(f *testing.F) {
	f.Add("policy", "p1", 1.5, int64(1e18))
	f.Add("", "\x00\xff", math.Inf(-1), int64(-1))
	f.Add("a\"b", "line\nbreak,and \\", 1e-300, int64(math.MaxInt64))
	f.Add("url", "<&>\u2028", math.MaxFloat64, int64(0))
	f.Fuzz(func(t *testing.T, key, value string, v float64, at int64) {
		if math.IsNaN(v) {
			return
		}
		samples := one(t, v, key, value)
		samples[0].Time = at
		var text bytes.Buffer
		w := bufio.NewWriter(&text)
		j := &ndjson{}
		j.begin(w)
		j.write(w, &samples[0])
		require.NoError(t, w.Flush())
		for line := range strings.Lines(text.String()) {
			var l struct {
				Type string
				Data struct {
					Value          float64
					Time           time.Time
					Tags, Metadata map[string]string
				}
			}
			require.NoError(t, json.Unmarshal([]byte(line), &l))
			if l.Type == "Point" {
				assert.Equal(t, v, l.Data.Value)
				assert.Equal(t, at, l.Data.Time.UnixNano())
				maps.Copy(l.Data.Tags, l.Data.Metadata)
				// A byte that is no UTF-8 becomes U+FFFD.
				assert.Equal(t, map[string]string{string([]rune(key)): string([]rune(value))}, l.Data.Tags)
			}
		}
		if strings.ContainsAny(key+value, "\r") {
			return // a csv reader drops them
		}
		text.Reset()
		w.Reset(&text)
		c := newCSV(metrics.DefaultSystemTags(), timeFormats()["unix_nano"])
		c.begin(w)
		c.write(w, &samples[0])
		require.NoError(t, w.Flush())
		table, err := csv.NewReader(&text).ReadAll()
		require.NoError(t, err)
		require.Len(t, table, 2)
		assert.Len(t, table[1], len(table[0]))
		assert.Equal(t, strconv.FormatInt(at, 10), table[1][1])
		assert.Contains(t, strings.Join(table[1], "\x01"), value)
	})
}

// BenchmarkAdd is what a sample costs the collector.
func BenchmarkAdd(b *testing.B) {
	for _, arg := range []string{"json", "csv=-"} {
		b.Run(arg, func(b *testing.B) {
			r := metrics.NewRegistry()
			m, err := r.Register("http_req_duration", metrics.Trend, metrics.Time)
			require.NoError(b, err)
			tags := r.Root()
			for _, k := range metrics.DefaultSystemTags() {
				tags = tags.With(k, "value of "+k)
			}
			o, err := Open(Params{Args: []string{arg}, Stdout: io.Discard})
			require.NoError(b, err)
			samples := []metrics.Sample{{Metric: m, Tags: tags, Value: 12.345678, Time: 1_700_000_000_123_456_789}}
			b.ReportAllocs()
			for b.Loop() {
				o.Add(samples)
			}
		})
	}
}

// TestAnEngineFeedsOutputs has nothing lost between a buffer and the file.
func TestAnEngineFeedsOutputs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.ndjson")
	o, err := Open(Params{Args: []string{"json=" + name}})
	require.NoError(t, err)
	samples := one(t, 2)
	e := metrics.NewEngine(metrics.NewRegistry())
	e.Attach(o)
	b := e.NewBuffer()
	e.Start(time.Millisecond)
	for range 5000 {
		b.Push(context.Background(), samples...)
	}
	e.Stop()
	require.NoError(t, o.Close())
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, 5001, strings.Count(string(text), "\n"))
}
