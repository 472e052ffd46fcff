package compare_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
)

const lab = "testdata/lab"

func labels(runs []compare.Run) []string {
	out := make([]string, len(runs))
	for i, run := range runs {
		out[i] = filepath.Base(run.File)
	}
	return out
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const (
	oneRequest = `{"metrics":{"resilience_requests":{"count":1,"rate":1}}}`
	oneRun     = `{"schema":"retrylab/run/1","name":"jitter-gray","number":3}`
)

func TestReadLab(t *testing.T) {
	runs, warnings, err := compare.Read(lab)
	require.NoError(t, err)
	require.Equal(t, []string{
		"01-no-retry-low-timeout-fixed-delay.summary.json",
		"02-no-retry-standard-timeout-fixed-delay.summary.json",
		"05-immediate-retry-random-failures-r1.summary.json",
		"05-immediate-retry-random-failures-r2.summary.json",
		"06-jitter-random-failures.summary.json",
		"07-circuit-breaker-random-failures.summary.json",
		"08-bulkhead-latency-tail-spike.summary.json",
		"09-jitter-latency-tail-spike.summary.json",
		"10-exponential-backoff-progressive-degradation.summary.json",
	}, labels(runs))
	var told []string
	for _, w := range warnings {
		told = append(told, filepath.Base(w.File)+" "+w.Reason)
	}
	require.Equal(t, []string{
		"11-bulkhead-fixed-delay.summary.json not a k6 summary: unexpected end of JSON input: left out",
		"12-immediate-retry-fixed-delay.run.json the run was interrupted: left out",
		"13-jitter-fixed-delay.run.json the run has no summary (exit code 107): left out",
	}, told)

	first := runs[0]
	require.Equal(t, "2026-07-01-matrix", first.Lab)
	require.Equal(t, 1, first.Number)
	require.Equal(t, 180.0, first.Policy.AttemptTimeoutMS)
	require.Equal(t, map[string]float64{"delay_ms": 220}, first.Scenario.Params)
	require.Equal(t, 3000.0, first.Setup.DurationMS)

	bare := runs[8]
	require.Nil(t, bare.Setup)
	require.Equal(t, "exponential-backoff", bare.Policy.Name)
	require.Equal(t, "progressive-degradation", bare.Scenario.Name)
	require.Equal(t, "2026-07-01-matrix", bare.Lab, "the lab of the other runs in its folder")
}

func TestReadTakesFilesGlobsAndDuplicatesOnce(t *testing.T) {
	summary := filepath.Join(lab, "06-jitter-random-failures.summary.json")
	runs, warnings, err := compare.Read(summary, filepath.Join(lab, "06-jitter-random-failures.run.json"), filepath.Join(lab, "0[67]-*"))
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, []string{"06-jitter-random-failures.summary.json", "07-circuit-breaker-random-failures.summary.json"}, labels(runs))
	require.NotNil(t, runs[0].Setup, "the run.json beside the summary is read")
}

func TestReadWarnsOfWhatItCannotRead(t *testing.T) {
	for _, c := range []struct {
		name, summary, run, want string
		left                     int
	}{
		{"corrupt run.json", oneRequest, `{"schema":`, "only its summary is reported", 1},
		{"other schema", oneRequest, `{"schema":"retrylab/run/9"}`, `"retrylab/run/9"`, 1},
		{"corrupt run.json alone", "", `[]`, "left out", 0},
		{"handleSummary", `{"metrics":{"x":{"type":"counter","contains":"default","values":{"count":1}}}}`, oneRun, "no resilience_requests", 1},
		{"no metrics", `{}`, oneRun, `no "metrics"`, 0},
		{"words for numbers", `{"metrics":{"x":{"count":"many"}}}`, oneRun, "count is no number", 0},
		{"negative count", `{"metrics":{"x":{"count":-1,"rate":0}}}`, oneRun, "below 0", 0},
		{"no policy", `{"metrics":{"iterations":{"count":1,"rate":1}}}`, oneRun, "no resilience_requests", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.summary != "" {
				write(t, dir, "03-jitter-gray.summary.json", c.summary)
			}
			write(t, dir, "03-jitter-gray.run.json", c.run)
			good := write(t, t.TempDir(), "04-jitter-gray.summary.json", oneRequest)
			runs, warnings, err := compare.Read(dir, good)
			require.NoError(t, err)
			require.Len(t, runs, c.left+1)
			require.Len(t, warnings, 1)
			require.Contains(t, warnings[0].Reason, c.want)
			require.Contains(t, warnings[0].File, "03-jitter-gray")
		})
	}
}

func TestReadWithoutRuns(t *testing.T) {
	empty := t.TempDir()
	for _, path := range []string{empty, filepath.Join(empty, "none.json"), filepath.Join(empty, "*.json"), "[", ""} {
		runs, warnings, err := compare.Read(path)
		require.ErrorIs(t, err, compare.ErrNoRuns, path)
		require.Empty(t, runs)
		require.Len(t, warnings, 1, path)
	}
	_, _, err := compare.Read()
	require.ErrorIs(t, err, compare.ErrNoRuns)
}

func TestNamesOfFiles(t *testing.T) {
	for _, c := range []struct {
		file             string
		number           int
		name             string
		repetition       int
		policy, scenario string
	}{
		{"07-jitter-fixed-delay.summary.json", 7, "jitter-fixed-delay", 1, "jitter", "fixed-delay"},
		{"07-jitter-fixed-delay-r3.summary.json", 7, "jitter-fixed-delay", 3, "jitter", "fixed-delay"},
		{"jitter-outage.summary.json", 0, "jitter-outage", 1, "jitter", "outage"},
		{"summary.json", 0, "summary", 1, "summary", ""},
		{"12-mine-r.summary.json", 12, "mine-r", 1, "mine-r", ""},
		{"fixed-delay.summary.json", 0, "fixed-delay", 1, "fixed-delay", ""},
		{"9999999-x.summary.json", 0, "9999999-x", 1, "9999999-x", ""},
	} {
		runs, _, err := compare.Read(write(t, t.TempDir(), c.file, oneRequest))
		require.NoError(t, err)
		got := runs[0]
		require.Equal(t, c.number, got.Number, c.file)
		require.Equal(t, c.name, got.Name, c.file)
		require.Equal(t, c.repetition, got.Repetition, c.file)
		require.Equal(t, c.policy, got.Policy.Name, c.file)
		require.Equal(t, c.scenario, got.Scenario.Name, c.file)
	}
}

func TestSeedMayBeAnyUint64(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "03-jitter-gray.summary.json", oneRequest)
	write(t, dir, "03-jitter-gray.run.json", `{"schema":"retrylab/run/1","name":"jitter-gray","seed":18446744073709551615}`)
	runs, warnings, err := compare.Read(dir)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, uint64(1<<64-1), runs[0].Setup.Seed)
}

// Copies of a lab are no repetitions of it.
func TestRunOfACopiedLabIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	require.NoError(t, os.CopyFS(one, os.DirFS("testdata/retry-storm")))
	require.NoError(t, os.CopyFS(two, os.DirFS("testdata/retry-storm")))
	runs, warnings, err := compare.Read(one, two)
	require.NoError(t, err)
	require.Len(t, runs, 3)
	require.Len(t, warnings, 3)
	require.Contains(t, warnings[0].String(), "two/01-no-retry-standard-timeout-brownout.summary.json: it is the same run as ")

	runs, warnings, err = compare.Read("a="+one, "b="+two)
	require.NoError(t, err)
	require.Len(t, runs, 6, "labels tell them apart")
	require.Empty(t, warnings)
}

func TestWhichRunsAreOne(t *testing.T) {
	const run = `"schema":"retrylab/run/1","name":"jitter-gray","number":3,"repetition":1}`
	for name, c := range map[string]struct {
		lab, one, two string
		want          int
	}{
		"no time is known": {`"lab":"l",`, ``, ``, 2},
		"not in UTC":       {`"lab":"l",`, `"started_at":"2026-01-02T03:04:05+02:00",`, `"started_at":"2026-01-02T01:04:05Z",`, 1},
		"at another time":  {`"lab":"l",`, `"started_at":"2026-01-02T03:04:05Z",`, `"started_at":"2026-01-02T03:04:06Z",`, 2},
		"of another lab":   {``, `"lab":"a","started_at":"2026-01-02T03:04:05Z",`, `"lab":"b","started_at":"2026-01-02T03:04:05Z",`, 2},
		"of the same lab":  {`"lab":"l",`, `"started_at":"2026-01-02T03:04:05Z",`, `"started_at":"2026-01-02T03:04:05Z",`, 1},
	} {
		var dirs []string
		for _, began := range []string{c.one, c.two} {
			dir := filepath.Join(t.TempDir(), "lab")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			write(t, dir, "03-jitter-gray.summary.json", oneRequest)
			write(t, dir, "03-jitter-gray.run.json", "{"+c.lab+began+run)
			dirs = append(dirs, dir)
		}
		runs, _, err := compare.Read(dirs...)
		require.NoError(t, err)
		require.Len(t, runs, c.want, name)
	}
}
