package compare

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"
)

func seed(f *testing.F, files ...string) {
	f.Helper()
	for _, file := range files {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// checkReport looks at what holds of every report, whatever the files said.
func checkReport(t *testing.T, report Report) {
	t.Helper()
	for _, row := range report.Rows {
		for _, c := range append(Columns(), Summary()...) {
			s := row.Stat(c)
			if s.Known() && !(s.Low <= s.Value && s.Value <= s.High && s.High-s.High == 0 && s.Low-s.Low == 0) {
				t.Fatalf("%s is %+v", c.Name, s)
			}
			for _, mark := range row.Marks(c) {
				if mark < 1 || mark > len(report.Notes) {
					t.Fatalf("%s has the mark %d of %d notes", c.Name, mark, len(report.Notes))
				}
			}
		}
	}
}

// FuzzSummary reads one JSON object of any shape.
func FuzzSummary(f *testing.F) {
	seed(f, "lab/06-jitter-random-failures.summary.json", "lab/11-bulkhead-fixed-delay.summary.json",
		"k6/summary-export-default.json", "k6/summary-export-empty-thresholds.json", "k6/handlesummary-compact.json",
		"k6/summary-export-machine.json", "k6/handlesummary-machine.json", "service/flat-summary.json", "service/flat-app-metrics.json",
		"sketches/small.json", "sketches/large.json")
	for _, text := range []string{
		`{"metrics":{"resilience_requests":{"count":1e308,"rate":1e-308},"resilience_rejected_breaker":{"count":1e308,"rate":1},"resilience_rejected_bulkhead":{"count":1e308,"rate":1}}}`,
		`{"metrics":{"successful_requests":{"count":1e308,"rate":1},"failed_requests":{"count":1e308,"rate":1},"retry_attempts_per_request":{"avg":1e308}}}`,
		`{"totalRequests":3,"successfulRequests":5,"maxInflightDownstream":-1,"saturationObservation":"low"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseObject(data)
		if err != nil || c.metrics.adopt(nil, map[string]bool{}) != nil {
			return
		}
		checkReport(t, Build([]Run{newRun(pair{summary: "01-a-fixed-delay.summary.json"}, c, runFile{}, false)}))
		_, _ = readChecks(c.rootGroup)
	})
}

// FuzzContent reads any bytes: streams of samples, compressed or not, and byte
// order marks are found here.
func FuzzContent(f *testing.F) {
	data, err := os.ReadFile("testdata/k6/ndjson-head.ndjson")
	if err != nil {
		f.Fatal(err)
	}
	data = bytes.Join(bytes.SplitAfter(data, []byte("\n"))[:8], nil) // long ones are fuzzed slowly
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte(gzipped(f, string(data))))
	f.Add([]byte(`{"type":"Metric","data":{"name":"a","type":"trend","contains":"time","submetrics":[{"name":"a{b:c}","tags":{"b":"c"}}]},"metric":"a"}
{"metric":"a","type":"Point","data":{"time":"2026-11-29T23:52:32Z","value":1e300,"tags":{"b":"c"}}}`))
	f.Add([]byte(`{"format":"retrylab-sketches","version":1,"start":"2026-01-02T15:04:05Z","metrics":[{"name":"a","type":"trend","trend":{"count":1,"sum":"Infinity","min":1,"max":"Infinity","values":["Infinity"]}}]}`))
	f.Add([]byte("\xef\xbb\xbf{}\r\n"))
	f.Add([]byte("\xff\xfe{\x00}\x00"))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(bytes.NewReader(data))
		if err != nil {
			return
		}
		checkReport(t, Build([]Run{newRun(pair{summary: "a.json"}, c, runFile{}, false)}))
		if c.parts == nil {
			return
		}
		again, err := parse(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.parts.merge(again.parts); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzPointLine holds the fast way to read a line against the slow one.
func FuzzPointLine(f *testing.F) {
	for _, value := range []string{"1", "-0.5", "6.250368", "1e3", "01", "1.", "-", "0.1234567890123456789", "123456789012345678901234567890123", `"1"`, "null"} {
		f.Add([]byte(`{"metric":"a","type":"Point","data":{"time":"2026-11-29T23:52:32.310694475Z","value":` + value + `,"tags":{"b":"c"}}}`))
	}
	for _, line := range []string{
		`{"metric":"a\u0062","type":"Point","data":{"time":"2026-11-29T23:52:32Z","value":1,"tags":null}}`,
		`{"metric":"a","type":"Point","data":{"time":"2026-11-29T23:52:32.5+01:00","value":1,"tags":{}},"type":"Metric"}`,
		`{"metric":"a","type":"Point","data":{"time":"2026-13-29T23:52:32.5Z","value":1,"tags":{},"value":2}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.TrimRight(line, "\r\n")
		p, ok := cutPoint(line)
		if !ok || !json.Valid(line) {
			return
		}
		var clock clock
		at, ok := clock.read(p.time)
		if !ok {
			return
		}
		var slow struct {
			Metric, Type string
			Data         struct {
				Time  time.Time
				Value float64
			}
		}
		var strict object
		if json.Unmarshal(line, &strict) != nil || len(strict) != 3 || json.Unmarshal(line, &slow) != nil {
			return
		}
		var data object
		if json.Unmarshal(strict.get("data"), &data) != nil || len(data) > 4 || bytes.Count(p.tags, []byte("ime")) > 0 || bytes.Count(p.tags, []byte("alue")) > 0 {
			return // keys that the slow one reads in either case
		}
		if slow.Metric != string(p.metric) || slow.Data.Value != p.value || slow.Data.Time.UnixNano() != at {
			t.Fatalf("fast %s %v %d, slow %+v", p.metric, p.value, at, slow)
		}
	})
}

func FuzzRunFile(f *testing.F) {
	seed(f, "lab/06-jitter-random-failures.run.json", "lab/08-bulkhead-latency-tail-spike.run.json")
	data, err := os.ReadFile("testdata/lab/06-jitter-random-failures.summary.json")
	if err != nil {
		f.Fatal(err)
	}
	c, err := parseObject(data)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parseRun(data)
		if err != nil {
			return
		}
		checkReport(t, Build([]Run{newRun(pair{summary: "01-a.summary.json"}, c, file, true)}))
	})
}

func FuzzGate(f *testing.F) {
	for _, text := range []string{
		"amplification<1.5", "success_rate>=95%", "downstream_calls/requests<1.6", `policy="a b" run=07 x{y:z/w<v}:p(95)!=-1e9`, "policy=*a*b* <", "{", "a:b:c/d:e==0",
	} {
		f.Add(text)
	}
	runs := []Run{{Name: "a b", Policy: Policy{Name: "a"}, Metrics: Metrics{"x": {Type: Counter, Values: map[string]float64{"count": 1, "rate": 0}}}}}
	f.Fuzz(func(t *testing.T, text string) {
		gate, err := ParseGate(text)
		if err != nil {
			return
		}
		again, err := ParseGate(gate.String())
		if err != nil || again.op != gate.op || again.limit != gate.limit {
			t.Fatalf("%q is %v, %v the second time", text, again, err)
		}
		if checks := (Options{Gates: []Gate{gate}}).Build(runs).Checks; len(checks) != 1 {
			t.Fatalf("%d checks of one row", len(checks))
		}
	})
}

// FuzzSketch reads any bytes as a sketch.
func FuzzSketch(f *testing.F) {
	d := distribution{}
	for _, v := range []float64{-3, 0, 1, 1, 2.5, 1e300, 1e-300} {
		d.add(v)
	}
	d.blur()
	var data []byte
	d.sketch.Encode(&data, false)
	f.Add(data, d.count)
	f.Add(data[:len(data)/2], d.count)
	f.Fuzz(func(t *testing.T, data []byte, count uint64) {
		sketch, err := decodeSketch(data, count)
		if err != nil {
			return
		}
		read := distribution{sketch: sketch, count: count, min: -1e308, max: 1e308}
		last := read.min
		for _, p := range []float64{0, 50, 99, 100} {
			v := read.percentile(p)
			if !(v >= last) {
				t.Fatalf("percentile %v is %v, after %v", p, v, last)
			}
			last = v
		}
	})
}
