package compare

import (
	"os"
	"testing"
)

func seed(f *testing.F, files ...string) {
	f.Helper()
	for _, file := range files {
		data, err := os.ReadFile("testdata/lab/" + file)
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

func FuzzSummary(f *testing.F) {
	seed(f, "06-jitter-random-failures.summary.json", "11-bulkhead-fixed-delay.summary.json")
	f.Add([]byte(`{"metrics":{"resilience_requests":{"count":1e308,"rate":1e-308},"resilience_rejected_breaker":{"count":1e308,"rate":1},"resilience_rejected_bulkhead":{"count":1e308,"rate":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		metrics, err := parseSummary(data)
		if err != nil {
			return
		}
		checkReport(t, Build([]Run{newRun(pair{summary: "01-a-fixed-delay.summary.json"}, metrics, runFile{}, false)}))
	})
}

func FuzzRunFile(f *testing.F) {
	seed(f, "06-jitter-random-failures.run.json", "08-bulkhead-latency-tail-spike.run.json")
	data, err := os.ReadFile("testdata/lab/06-jitter-random-failures.summary.json")
	if err != nil {
		f.Fatal(err)
	}
	metrics, err := parseSummary(data)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parseRun(data)
		if err != nil {
			return
		}
		checkReport(t, Build([]Run{newRun(pair{summary: "01-a.summary.json"}, metrics, file, true)}))
	})
}
