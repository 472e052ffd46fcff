package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/retrylab/retrylab/service"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callerRole is set where this program is to be a runner that makes one call.
const callerRole = "RETRYLAB_TEST_CALLER"

func TestMain(m *testing.M) {
	if os.Getenv(callerRole) != "" {
		if err := callOnce(os.Args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// callOnce calls the server that a runner is told of and writes an empty
// summary.
func callOnce(args []string) error {
	for i, arg := range args {
		base, isBase := strings.CutPrefix(arg, "BASE_URL=")
		switch {
		case isBase:
			answer, err := http.Get(base + "/call")
			if err != nil {
				return err
			}
			answer.Body.Close()
		case arg == "--summary-export":
			if err := os.WriteFile(args[i+1], []byte("{}"), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestMatrixIsThePublishedExperiment(t *testing.T) {
	plan, err := BuiltinPlan("matrix")
	require.NoError(t, err)
	var names []string
	for _, r := range plan.Runs {
		names = append(names, fmt.Sprintf("%02d %s", r.Number, r.Name()))
	}
	assert.Equal(t, []string{
		"01 no-retry-low-timeout-fixed-delay",
		"02 no-retry-standard-timeout-fixed-delay",
		"03 immediate-retry-fixed-delay",
		"04 exponential-backoff-fixed-delay",
		"05 jitter-fixed-delay",
		"06 no-retry-standard-timeout-random-failures",
		"07 immediate-retry-random-failures",
		"08 exponential-backoff-random-failures",
		"09 jitter-random-failures",
		"10 no-retry-standard-timeout-progressive-degradation",
		"11 immediate-retry-progressive-degradation",
		"12 jitter-progressive-degradation",
		"13 circuit-breaker-progressive-degradation",
		"14 bulkhead-progressive-degradation",
		"15 no-retry-standard-timeout-latency-tail-spike",
		"16 immediate-retry-latency-tail-spike",
		"17 jitter-latency-tail-spike",
	}, names)
	assert.Equal(t, "mid-work", plan.Cancellation.String())
}

func TestEveryRunOfAPlanHasItsScript(t *testing.T) {
	for _, name := range PlanNames() {
		plan, err := BuiltinPlan(name)
		require.NoError(t, err)
		for _, r := range plan.Runs {
			_, err := os.Stat(filepath.Join("..", "scripts", r.Script))
			assert.NoError(t, err)
		}
	}
}

func TestParsePlanNamesEveryFault(t *testing.T) {
	_, err := ParsePlan("p.yaml", []byte(`
runs:
  - {policy: nope, scenario: fixed-delay}
  - {policy: jitter, scenario: nope}
  - {policy: jitter, scenario: fixed-delay, params: {delay: fast}}`))
	for _, fault := range []string{
		"plan p.yaml: ", "name: is missing", `runs[0].policy: unknown policy "nope"`, `runs[1].scenario: unknown scenario "nope"`,
		"runs[2].scenario: fixed-delay.delay",
	} {
		assert.ErrorContains(t, err, fault)
	}
	_, err = ParsePlan("p.yaml", []byte("name: p\nruns: [{policy: jitter, scenario: fixed-delay}, {policy: jitter, scenario: fixed-delay}]"))
	assert.ErrorContains(t, err, `runs[1]: "jitter-fixed-delay" stands here twice; give one a variant`)
	_, err = ParsePlan("p.yaml", []byte("name: p\nrun: []"))
	assert.ErrorContains(t, err, "field run not found")
	for given, want := range map[string]string{
		"rate: -1":       "rate: -1 is not in 0 … 100000 requests per second",
		"rate: .nan":     "rate: NaN is not in 0 … 100000 requests per second",
		"rate: 1e9":      "rate: 1e+09 is not in 0 … 100000 requests per second",
		"length: -1s":    "length: -1s is not in 0s … 24h0m0s",
		"length: 25h":    "length: 25h0m0s is not in 0s … 24h0m0s",
		"length: twenty": "cannot unmarshal",
	} {
		_, err := ParsePlan("p.yaml", []byte("name: p\n"+given+"\nruns: [{policy: jitter, scenario: fixed-delay}]"))
		assert.ErrorContains(t, err, want, given)
	}
	_, err = ParsePlan("p.yaml", []byte("name: p"))
	assert.ErrorContains(t, err, "runs: there is none")
}

func TestParsePlanChecksNamesScriptsAndTiers(t *testing.T) {
	_, err := ParsePlan("p.yaml", []byte(`
name: a/b
runs:
  - {policy: jitter, scenario: fixed-delay, variant: ../up, env: {POLICY: x, BASE_URL: y, 1A: z, "A B": w, OK_1: v}}
  - {policy: jitter, scenario: overload}
  - {policy: jitter, scenario: fixed-delay, script: nope.js, tiers: [{policy: nope}, {policy: jitter, passDeadline: maybe, url: x}]}
  - {policy: bulkhead, scenario: fixed-delay, tiers: []}`))
	for _, fault := range []string{
		`name: "a/b" is not made of letters, digits, '-', '_' and '.' after a letter or a digit`,
		`runs[0].variant: "../up" is not made of letters`,
		`runs[0].env: "POLICY" is set by the lab itself`,
		`runs[0].env: "BASE_URL" is set by the lab itself`,
		`runs[0].env: "1A" is not made of letters, digits and '_' after a letter or '_'`,
		`runs[0].env: "A B" is not made of `,
		`runs[1].script: unknown script "overload.js", known are: fixed-delay.js, `,
		`runs[2].script: unknown script "nope.js", known are: `,
		`runs[2].tiers[0].policy: unknown policy "nope", known are: `,
		`runs[2].tiers[1]: unknown key "url"; known are policy, passDeadline`,
		`runs[2].tiers[1].passDeadline: "maybe" is not true or false`,
		`runs[3].tiers: 0 is not in 1 … 16`,
	} {
		assert.ErrorContains(t, err, fault)
	}
	assert.NotContains(t, err.Error(), "OK_1")
}

func TestVariantOfARun(t *testing.T) {
	p, err := ParsePlan("p.yaml", []byte(`
name: p
cancellation: mid-work
runs:
  - {policy: jitter, scenario: fixed-delay}
  - {policy: jitter, scenario: fixed-delay, variant: ignored, cancellation: ignore, env: {POOL: "16", A: b}}`))
	require.NoError(t, err)
	assert.Equal(t, "mid-work", p.Runs[0].Cancellation.String())
	assert.Equal(t, "jitter-fixed-delay-ignored", p.Runs[1].Name())
	assert.Equal(t, "ignore", p.Runs[1].Cancellation.String())
	assert.Equal(t, []string{"POLICY=jitter", "BASE_URL=http://x", "A=b", "POOL=16"}, p.Runs[1].environment("http://x", Mode{VUs: 1}))
}

func TestOnly(t *testing.T) {
	plan, err := BuiltinPlan("matrix")
	require.NoError(t, err)
	for pattern, want := range map[string][]int{
		"07": {7}, "7": {7}, "jitter-*": {5, 9, 12, 17}, "*-random-failures": {6, 7, 8, 9},
	} {
		kept, err := plan.Only([]string{pattern})
		require.NoError(t, err)
		var numbers []int
		for _, r := range kept.Runs {
			numbers = append(numbers, r.Number)
		}
		assert.Equal(t, want, numbers, pattern)
	}
	_, err = plan.Only([]string{"07", "nope"})
	assert.EqualError(t, err, `only: no run of plan matrix matches "nope"`)
	_, err = plan.Only([]string{"["})
	assert.ErrorContains(t, err, `only: "[" is no pattern`)
	assert.Len(t, plan.Runs, 17, "the plan itself is left alone")
}

func TestFileNames(t *testing.T) {
	assert.Equal(t, "07-immediate-retry-random-failures", fileName(7, "immediate-retry-random-failures", 1, 1))
	assert.Equal(t, "07-immediate-retry-random-failures-r2", fileName(7, "immediate-retry-random-failures", 2, 3))
}

func TestClaimRefusesAFolderWithALab(t *testing.T) {
	plan, mode := Plan{Name: "p"}, Mode{Name: "m"}
	for _, file := range []string{"01-x.run.json", "01-x-r2.summary.json", "comparison.csv"} {
		dir := filepath.Join(t.TempDir(), "a [strange] folder*")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o644))
		assert.ErrorIs(t, Claim(dir, plan, mode), ErrResultsTaken, file)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o644))
	require.NoError(t, Claim(dir, plan, mode), "a folder with something else in it")
	assert.ErrorIs(t, Claim(dir, plan, mode), ErrResultsTaken, "it is this lab's now")
	assert.ErrorContains(t, Claim(filepath.Join(dir, "notes.txt"), plan, mode), "results folder: ")
}

func TestLabsThatStartAtOnceGetFoldersOfTheirOwn(t *testing.T) {
	root := t.TempDir()
	folders := make([]string, 8)
	var wg sync.WaitGroup
	for i := range folders {
		wg.Go(func() {
			var err error
			folders[i], err = ClaimNew(root, Plan{Name: "p"}, Mode{Name: "m"})
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	slices.Sort(folders)
	assert.Len(t, slices.Compact(folders), 8)
}

func TestRunnerArgumentsAreOnesThatK6HasToo(t *testing.T) {
	r := Runner{Args: []string{"run"}}
	assert.Equal(t, []string{
		"run", "--vus", "40", "--duration", "3s", "--summary-export", "s.json",
		"--summary-trend-stats", "avg,min,med,max,p(90),p(95),p(99),count", "--quiet", "--no-color",
		"--env", "POLICY=jitter", "--env", "BASE_URL=http://127.0.0.1:1", "x.js",
	}, r.arguments(job{script: "x.js", env: []string{"POLICY=jitter", "BASE_URL=http://127.0.0.1:1"}, mode: Mode{VUs: 40, Duration: 3 * time.Second}, summary: "s.json"}))
}

func TestModeOfAPlan(t *testing.T) {
	quick, err := LookupMode("quick")
	require.NoError(t, err)
	assert.Equal(t, quick, quick.Of(Plan{}))
	assert.Equal(t, "40 VUs x 3s", quick.Load())
	assert.Equal(t, OnceMode(), quick.Of(Plan{Once: true, Rate: 5}))

	open := quick.Of(Plan{Rate: 140, Length: 20 * time.Second})
	assert.Equal(t, Mode{Name: "quick", Rate: 140, Duration: 20 * time.Second, Repetitions: 1}, open)
	assert.Equal(t, "140 requests/s x 20s", open.Load())
	require.NoError(t, open.Validate())
	long := Mode{VUs: 40, Duration: time.Minute, Repetitions: 3}.Of(Plan{Length: 20 * time.Second})
	assert.Equal(t, Mode{VUs: 40, Duration: time.Minute, Repetitions: 3}, long)

	for want, m := range map[string]Mode{
		"vus: 0 is not in 1 … 10000":                     {Duration: time.Second, Repetitions: 1},
		"vus: 3 make no open loop of 5 requests/s":       {VUs: 3, Rate: 5, Duration: time.Second, Repetitions: 1},
		"rate: -1 is not in 0 … 100000 requests per sec": {Rate: -1, Duration: time.Second, Repetitions: 1},
	} {
		assert.ErrorContains(t, m.Validate(), want)
	}
}

// The scenario of the script must stand: flags for a closed loop would replace it.
func TestOpenLoopIsTheScriptsOwn(t *testing.T) {
	m := Mode{Rate: 140, Duration: 20 * time.Second, Repetitions: 1}
	plan, err := BuiltinPlan("retry-storm")
	require.NoError(t, err)
	env := plan.Runs[1].environment("http://x", m)
	assert.Equal(t, []string{"POLICY=immediate-retry", "BASE_URL=http://x", "RATE=140", "DURATION=20s"}, env)
	args := Runner{Args: []string{"run"}}.arguments(job{script: "x.js", env: env, mode: m, summary: "s.json"})
	assert.NotContains(t, args, "--vus")
	assert.NotContains(t, args, "--duration")
	assert.Subset(t, args, env)
	assert.Equal(t, plan.Runs[0].Params, plan.Runs[5].Params, "all of them meet the same dip")
	assert.Equal(t, "ignore", plan.Runs[5].Cancellation.String())
}

func TestRateOfALabIsRecorded(t *testing.T) {
	c := config(t, "exit 0")
	c.Plan.Rate = 140
	require.ErrorContains(t, Run(t.Context(), c), "mode test: its rate is 0, but the plan's 140: use Mode.Of")
	c.Mode = c.Mode.Of(c.Plan)
	require.NoError(t, Run(t.Context(), c))
	r := records(t, c.Folder)[0]
	assert.Equal(t, 140.0, r.Rate)
	assert.Zero(t, r.VUs)
}

// config is a lab of the plan's first two runs whose runner is a shell script.
func config(t *testing.T, shell string) Config {
	t.Helper()
	plan, err := BuiltinPlan("matrix")
	require.NoError(t, err)
	plan, err = plan.Only([]string{"01", "02"})
	require.NoError(t, err)
	shell = `while [ "$1" != --summary-export ]; do shift; done; : > "$2"; ` + shell
	return Config{
		Plan: plan, Mode: Mode{Name: "test", VUs: 1, Duration: time.Second, Repetitions: 2},
		Folder:  t.TempDir(),
		Seed:    5,
		Runner:  Runner{Name: "fake", Version: "1", Path: "/bin/sh", Args: []string{"-c", "set -- \"$@\" \nall=\"$*\"; " + shell, "fake"}},
		Scripts: fstest.MapFS{"fixed-delay.js": &fstest.MapFile{}, "lib/x.js": &fstest.MapFile{}},
	}
}

func records(t *testing.T, dir string) []Record {
	t.Helper()
	files, err := fs.Glob(os.DirFS(dir), "*.run.json")
	require.NoError(t, err)
	var all []Record
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		var r Record
		require.NoError(t, json.Unmarshal(data, &r))
		all = append(all, r)
	}
	return all
}

func TestRunRecordsWhatWasRun(t *testing.T) {
	c := config(t, "exit 0")
	var steps []string
	c.Progress = func(p Progress) {
		steps = append(steps, fmt.Sprintf("%d/%d %s r%d %v", p.Done, p.Total, p.Name, p.Repetition, p.Ended))
	}
	require.NoError(t, Run(t.Context(), c))
	assert.Equal(t, []string{
		"0/4 no-retry-low-timeout-fixed-delay r1 false", "1/4 no-retry-low-timeout-fixed-delay r1 true",
		"1/4 no-retry-standard-timeout-fixed-delay r1 false", "2/4 no-retry-standard-timeout-fixed-delay r1 true",
		"2/4 no-retry-low-timeout-fixed-delay r2 false", "3/4 no-retry-low-timeout-fixed-delay r2 true",
		"3/4 no-retry-standard-timeout-fixed-delay r2 false", "4/4 no-retry-standard-timeout-fixed-delay r2 true",
	}, steps, "interleaved: A B A B")
	all := records(t, c.Folder)
	require.Len(t, all, 4)
	r := all[1]
	assert.Equal(t, "no-retry-low-timeout-fixed-delay", r.Name)
	assert.Equal(t, 2, r.Repetition)
	assert.EqualValues(t, 6, r.Seed, "each repetition has the next seed")
	assert.Equal(t, PolicyRecord{Name: "no-retry-low-timeout", MaxAttempts: 1, AttemptTimeoutMs: 180, Guards: []string{"timeout"}}, r.Policy)
	assert.Equal(t, ScenarioRecord{Name: "fixed-delay", Params: map[string]any{"delay_ms": 220.0}, Cancellation: "mid-work"}, r.Scenario)
	assert.Equal(t, Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()}, r.Machine)
	assert.Equal(t, all[0].Lab, r.Lab)
	assert.False(t, r.EndedAt.Before(r.StartedAt))
}

// Three tiers of three attempts each make 3³ calls of one request.
func TestRunBehindTiersRecordsTheirCounts(t *testing.T) {
	t.Setenv(callerRole, "1")
	c := config(t, "")
	c.Runner.Path, c.Runner.Args = os.Args[0], nil
	c.Mode.Repetitions = 1
	var err error
	c.Plan, err = ParsePlan("p.yaml", []byte(`
name: p
runs:
  - policy: no-retry-standard-timeout
    scenario: random-failures
    params: {delay: 0, failureRate: 1}
    tiers:
      - {policy: immediate-retry}
      - {policy: {name: own, guards: [{retry: {maxAttempts: 3}}]}}
      - {policy: immediate-retry, passDeadline: true}`))
	require.NoError(t, err)
	require.NoError(t, Run(t.Context(), c))
	r := records(t, c.Folder)[0]
	assert.EqualValues(t, 27, r.Downstream.Received)
	assert.Equal(t, []service.TierStats{
		{Policy: "immediate-retry", Received: 1, Calls: 3, Amplification: 3},
		{Policy: "own", Received: 3, Calls: 9, Amplification: 3},
		{Policy: "immediate-retry", PassDeadline: true, Received: 9, Calls: 27, Amplification: 3},
	}, r.Tiers)
}

func TestRunThatFailsDoesNotStopTheOthers(t *testing.T) {
	c := config(t, `case "$all" in *POLICY=no-retry-low*) echo first >&2; echo "the reason" >&2; exit 107;; esac`)
	err := Run(t.Context(), c)
	var failure *RunError
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, RunError{Run: "no-retry-low-timeout-fixed-delay", ExitCode: 107, Message: "the reason"}, *failure)
	all := records(t, c.Folder)
	require.Len(t, all, 4)
	assert.Equal(t, 107, all[0].ExitCode)
	assert.Equal(t, "the reason", all[0].ErrorMessage)
	assert.Equal(t, 0, all[2].ExitCode)
}

func TestRunnerThatCannotBeStartedEndsTheLab(t *testing.T) {
	c := config(t, "")
	c.Runner.Path = filepath.Join(t.TempDir(), "missing")
	assert.ErrorContains(t, Run(t.Context(), c), "start of ")
}

func TestRunWithoutASummaryFails(t *testing.T) {
	c := config(t, `rm "$2"`)
	err := Run(t.Context(), c)
	var failure *RunError
	require.ErrorAs(t, err, &failure)
	assert.Contains(t, failure.Message, "it wrote no summary")
	assert.Equal(t, -1, records(t, c.Folder)[0].ExitCode)
}

func TestEnvironmentsOptionsOfK6AreNotThoseOfALab(t *testing.T) {
	t.Setenv("K6_STAGES", "1s:5")
	c := config(t, `[ -z "$K6_STAGES" ] || exit 104; [ -n "$PATH" ] || exit 1`)
	assert.NoError(t, Run(t.Context(), c))
}

// A runner that is a wrapper, and what it has started, do not outlive the lab.
func TestInterruptReachesWhatARunnerHasStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	// The wrapper itself may miss the signal; what it has started ends by it, or not at all.
	c := config(t, `sh -c 'trap "exit 0" INT; : > "$0.started"; while :; do sleep 0.01; done' "$0"; exit 0`)
	marker := filepath.Join(t.TempDir(), "runner")
	c.Runner.Args[2] = marker
	go cancelWhen(marker+".started", cancel)
	begin := time.Now()
	assert.ErrorIs(t, Run(ctx, c), ErrInterrupted)
	assert.Less(t, time.Since(begin), stopPatience)
}

func TestSecondInterruptKillsARunnerThatDoesNotStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hard, kill := context.WithCancel(t.Context())
	c := config(t, `trap ': > "$0.asked"' INT; : > "$0.started"; while :; do sleep 0.01; done`)
	c.Hard = hard
	marker := filepath.Join(t.TempDir(), "runner")
	c.Runner.Args[2] = marker
	go cancelWhen(marker+".started", cancel)
	go cancelWhen(marker+".asked", kill)
	begin := time.Now()
	assert.ErrorIs(t, Run(ctx, c), ErrInterrupted)
	assert.Less(t, time.Since(begin), stopPatience)
	assert.Equal(t, -1, records(t, c.Folder)[0].ExitCode)
}

// cancelWhen cancels once a file is there.
func cancelWhen(file string, cancel func()) {
	for {
		if _, err := os.Stat(file); err == nil {
			cancel()
			return
		}
		runtime.Gosched()
	}
}

func TestInterruptedLabStopsItsRunnerAndKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := config(t, `case "$all" in *POLICY=no-retry-low*) exit 0;; esac
		trap 'echo stopped >&2; exit 105' INT
		: > "$0.started"; while :; do sleep 0.01; done`)
	marker := filepath.Join(t.TempDir(), "runner")
	c.Runner.Args[2] = marker
	go cancelWhen(marker+".started", cancel)
	err := Run(ctx, c)
	assert.ErrorIs(t, err, ErrInterrupted)
	assert.EqualError(t, err, "the lab was interrupted after 1 of 4 runs")
	all := records(t, c.Folder)
	require.Len(t, all, 2)
	assert.False(t, all[0].Interrupted)
	assert.True(t, all[1].Interrupted)
	assert.Equal(t, 105, all[1].ExitCode)
}

func TestTailKeepsTheEnd(t *testing.T) {
	var log tail
	for i := range 10_000 {
		fmt.Fprintf(&log, "line %d\n", i)
	}
	assert.Equal(t, "line 9999", log.lastLine())
	assert.LessOrEqual(t, log.kept.Len(), tailLimit)
}

func TestRatesAtTheirBounds(t *testing.T) {
	_, err := ParsePlan("p.yaml", []byte("name: p\nruns: [{policy: jitter, scenario: fixed-delay, env: {RATE: x, DURATION: y}}]"))
	assert.ErrorContains(t, err, `runs[0].env: "RATE" is set by the lab itself`)
	assert.ErrorContains(t, err, `runs[0].env: "DURATION" is set by the lab itself`)
	_, err = ParsePlan("p.yaml", []byte("name: p\nrate: 100000\nlength: 24h\nruns: [{policy: jitter, scenario: fixed-delay}]"))
	require.NoError(t, err)
	for want, m := range map[string]Mode{
		"rate: NaN is not in 0 …":                  {Rate: math.NaN(), Duration: time.Second, Repetitions: 1},
		"rate: 100001 is not in 0 …":               {Rate: 100_001, Duration: time.Second, Repetitions: 1},
		"vus: 1 make no open loop of 5 requests/s": {VUs: 1, Rate: 5, Duration: time.Second, Repetitions: 1},
	} {
		assert.ErrorContains(t, m.Validate(), want)
	}
	require.NoError(t, Mode{VUs: 10_000, Duration: time.Second, Repetitions: 1}.Validate())
	assert.Contains(t, PlannedRun{}.environment("http://x", Mode{Rate: .5, Duration: time.Second}), "RATE=0.5")
}
