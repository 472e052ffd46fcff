package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/retrylab/retrylab/runner"
	"github.com/retrylab/retrylab/runner/internal/scripttest"
	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/thresholds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ptr[T any](v T) *T { return &v }

// TestEndToEnd runs one script with everything in it against a real server.
func TestEndToEnd(t *testing.T) {
	var calls, torn atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/torn":
			torn.Add(1)
		case "/call":
			if calls.Add(1)%4 == 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
		_, _ = io.WriteString(w, `{"n": 1}`)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	export, handled := filepath.Join(dir, "export.json"), filepath.Join(dir, "handled.json")
	src := fmt.Sprintf(`
import http from 'k6/http';
import { check, group } from 'k6';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
import { double } from './lib/double.ts';
const mine = new Counter('mine'), level = new Gauge('level'), good = new Rate('good'), took = new Trend('took', true);
export const options = {
  vus: 2, iterations: 8, tags: { team: 'blue' },
  thresholds: {
    mine: ['count==16'], 'http_req_duration{scenario:default}': ['p(95)<10000'], good: [{ threshold: 'rate>0.99' }],
    'http_reqs{team:blue}': ['count==10'], checks: ['rate>0.5'], 'took{never:seen}': ['avg<1'],
  },
};
export function setup() { return { path: http.get(%[1]q + '/setup').json('n') === 1 ? '/call' : '/bad', from: __ENV.FROM }; }
export default function (data) {
  const res = http.get(%[1]q + data.path);
  check(res, { 'served': (r) => r.status === 200 });
  group('outer', () => group('inner', () => check(data, { 'from env': (d) => d.from === 'here' })));
  mine.add(double(1)); level.add(__ITER %% 2 + 1); good.add(res.status === 200); took.add(res.timings.duration);
}
export function teardown(data) { if (data.path === '/call') http.get(%[1]q + '/torn'); }
export function handleSummary(data) { return { [__ENV.OUT]: JSON.stringify(data), stdout: 'to stdout', stderr: 'to stderr' }; }
`, s.URL)
	var stdout, stderr bytes.Buffer
	var phases []runner.Phase
	res, err := runner.Run(t.Context(), runner.Config{
		Script: "tests/main.js",
		FS: scripttest.Files(map[string]string{
			"tests/main.js": src, "tests/lib/double.ts": "export const double = (n: number): number => 2 * n;",
		}),
		Environ: []string{"FROM=there", "PATH=/bin"}, Env: map[string]string{"FROM": "here", "OUT": handled},
		SummaryExport: export, Stdout: &stdout, Stderr: &stderr,
		Progress: func(s runner.Status) {
			if len(phases) == 0 || phases[len(phases)-1] != s.Phase {
				phases = append(phases, s.Phase)
			}
		},
	})
	assert.Equal(t, runner.ThresholdsFailed, runner.KindOf(err), "%v", err)
	require.NotNil(t, res)
	assert.Equal(t, []string{"good"}, res.FailedThresholds)
	assert.Equal(t, []string{"took{never:seen}"}, res.UnseenThresholds)
	assert.EqualValues(t, 8, res.Iterations)
	assert.EqualValues(t, 1, torn.Load())
	assert.Equal(t, []runner.Phase{runner.Starting, runner.Setup, runner.Running, runner.Teardown, runner.Finished}, phases)
	assert.Equal(t, "to stdout", stdout.String())
	assert.Contains(t, stderr.String(), "to stderr")
	assert.Contains(t, stderr.String(), "no sample was seen by the thresholds on took{never:seen}")

	var flat struct {
		Metrics map[string]map[string]any
		Setup   map[string]any `json:"setup_data"`
		Root    struct {
			Checks map[string]map[string]any
			Groups map[string]struct {
				Groups map[string]struct{ Checks map[string]map[string]any }
			}
		} `json:"root_group"`
	}
	read(t, export, &flat)
	assert.Equal(t, 16.0, flat.Metrics["mine"]["count"])
	assert.Equal(t, map[string]any{"count==16": false}, flat.Metrics["mine"]["thresholds"])
	assert.Equal(t, map[string]any{"rate>0.99": true}, flat.Metrics["good"]["thresholds"], "true is failed")
	assert.Equal(t, 0.75, flat.Metrics["good"]["value"])
	assert.Equal(t, 2.0, flat.Metrics["level"]["max"])
	assert.Equal(t, 8.0, flat.Metrics["iterations"]["count"])
	assert.Equal(t, 10.0, flat.Metrics["http_reqs"]["count"], "setup's and teardown's too")
	assert.Contains(t, flat.Metrics, "http_req_duration{expected_response:true}")
	assert.NotContains(t, flat.Metrics, "dropped_iterations")
	assert.Equal(t, 2.0, flat.Root.Checks["served"]["fails"])
	assert.Equal(t, 8.0, flat.Root.Groups["outer"].Groups["inner"].Checks["from env"]["passes"])
	assert.Equal(t, map[string]any{"path": "/call", "from": "here"}, flat.Setup)

	var full struct {
		Metrics map[string]struct {
			Type, Contains string
			Values         map[string]float64
			Thresholds     map[string]struct{ OK bool }
		}
		State map[string]any
	}
	read(t, handled, &full)
	assert.Equal(t, "time", full.Metrics["took"].Contains)
	assert.False(t, full.Metrics["good"].Thresholds["rate>0.99"].OK)
	assert.True(t, full.Metrics["mine"].Thresholds["count==16"].OK)
	assert.InDelta(t, res.Duration.Seconds()*1000, full.State["testRunDurationMs"], 1e-6)
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	assert.Empty(t, left, "temporary files")
}

func read(t *testing.T, name string, to any) {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, to))
}

func TestFailuresByKind(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		kind runner.Kind
		want string
	}{
		"ok":                     {"export default function () {}", 0, ""},
		"thresholds":             {"export const options = {thresholds: {iterations: ['count>1']}}; export default function () {}", runner.ThresholdsFailed, "iterations"},
		"setup timeout":          {"export const options = {setupTimeout: '20ms'}; export function setup() { for (;;); } export default function () {}", runner.SetupTimeout, "setupTimeout"},
		"async setup timeout":    {"export const options = {setupTimeout: 20}; export async function setup() { await new Promise(() => setTimeout(() => {}, 1e6)); } export default function () {}", runner.SetupTimeout, "setup() took longer than 20ms"},
		"teardown timeout":       {"import {sleep} from 'k6'; export const options = {teardownTimeout: '20ms'}; export function teardown() { sleep(100); } export default function () {}", runner.TeardownTimeout, "teardownTimeout"},
		"unknown metric":         {"export const options = {thresholds: {nope: ['count>1']}}; export default function () {}", runner.InvalidConfig, `"nope"`},
		"bad threshold":          {"export const options = {thresholds: {iterations: ['p(95)<1', 'x']}}; export default function () {}", runner.InvalidConfig, "want one of count, rate"},
		"bad option":             {"export const options = {vus: -1, duration: '-1s'}; export default function () {}", runner.InvalidConfig, "vus: -1, want at least 1\nduration: -1s"},
		"option not there":       {"export const options = {dns: {ttl: '0'}}; export default function () {}", runner.InvalidConfig, "options.dns is not in the built-in runner; use a k6 build"},
		"two ways to say":        {"export const options = {stages: [{duration: '1s', target: 1}], scenarios: {}}; export default function () {}", runner.InvalidConfig, "stages and scenarios are two ways"},
		"no such exec":           {"export const options = {scenarios: {a: {executor: 'shared-iterations', exec: 'go'}}};", runner.InvalidConfig, "scenarios.a.exec: the script exports no function \"go\""},
		"abort in setup":         {"import exec from 'k6/execution'; export function setup() { exec.test.abort('no data'); } export default function () {}", runner.AbortedByScript, "test aborted: no data"},
		"abort in init":          {"import exec from 'k6/execution'; exec.test.abort(); export default function () {}", runner.AbortedByScript, "test aborted"},
		"does not parse":         {"export default function ( {", runner.ScriptException, "/main.js:1:"},
		"init throws":            {"throw new Error('early'); export default function () {}", runner.ScriptException, "early"},
		"init rejects":           {"await Promise.reject(new Error('early')); export default function () {}", runner.ScriptException, "early"},
		"setup throws":           {"export function setup() { throw new Error('in setup'); } export default function () {}", runner.ScriptException, "in setup"},
		"teardown throws":        {"export function teardown() { throw new Error('in teardown'); } export default function () {}", runner.ScriptException, "in teardown"},
		"no default":             {"export function other() {}", runner.ScriptException, "no default function"},
		"default is no function": {"export default 3;", runner.ScriptException, "no default function"},
		"module not there":       {"import b from 'k6/browser'; export default function () {}", runner.ScriptException, "k6/browser is not in the built-in runner"},
		"export not there":       {"import { OCSP_STATUS_GOOD } from 'k6/http'; export default function () {}", runner.ScriptException, "OCSP_STATUS_GOOD of k6/http is not in the built-in runner"},
		"later VU's init throws": {"if (__VU > 0) throw new Error('only there'); export default function () {}", runner.ScriptException, "VU 1: Error: only there"},
	} {
		t.Run(name, func(t *testing.T) {
			out := scripttest.Run(t, c.src)
			require.Equal(t, c.kind, runner.KindOf(out.Err), "%v", out.Err)
			if c.want == "" {
				require.NoError(t, out.Err)
				return
			}
			require.ErrorContains(t, out.Err, c.want)
		})
	}
}

func TestMissingScript(t *testing.T) {
	_, err := runner.Run(t.Context(), runner.Config{Script: filepath.Join(t.TempDir(), "gone.js")})
	assert.Equal(t, runner.InvalidConfig, runner.KindOf(err))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "gone.js")
	_, err = runner.Run(t.Context(), runner.Config{})
	assert.Equal(t, runner.InvalidConfig, runner.KindOf(err))
}

func TestScriptsOfTheOperatingSystem(t *testing.T) {
	dir := t.TempDir()
	const main = "import { t } from './lib/l.js'; export default function () { console.log(t, open === undefined); }"
	for name, src := range map[string]string{
		"main.js":  main,
		"lib/l.js": "export const t = open('./data.txt') + open('../main.js').length + new Uint8Array(open('data.txt', 'b')).length;", "lib/data.txt": "data",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(src), 0o644))
	}
	out := scripttest.Run(t, "", func(c *runner.Config) { c.FS, c.Script = nil, filepath.Join(dir, "main.js") })
	require.NoError(t, out.Err)
	assert.Equal(t, []string{fmt.Sprintf("data%d4 false", len(main))}, out.Console)
}

// interrupted runs a script whose iterations signal a server that they run,
// and ends its context then.
func interrupted(t *testing.T, body string, adjust ...func(*runner.Config)) scripttest.Outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() }))
	t.Cleanup(s.Close)
	src := fmt.Sprintf("import http from 'k6/http'; import { sleep } from 'k6'; const stop = () => http.get(%q);\n%s", s.URL, body)
	return scripttest.RunContext(ctx, t, src, adjust...)
}

func TestAnInterruptedRunTearsDownAndSummarizes(t *testing.T) {
	for name, wait := range map[string]string{"busy": "for (;;);", "asleep": "sleep(1e6);", "awaiting": "await new Promise(() => setTimeout(() => {}, 1e9));"} {
		t.Run(name, func(t *testing.T) {
			export := filepath.Join(t.TempDir(), "s.json")
			out := interrupted(t, `export const options = {duration: '1h'};
				export default async function () { stop(); `+wait+` }
				export function teardown() { console.log('torn down'); }`,
				func(c *runner.Config) { c.SummaryExport, c.NoSummary = export, false })
			assert.Equal(t, runner.InterruptedRun, runner.KindOf(out.Err), "%v", out.Err)
			require.ErrorIs(t, out.Err, context.Canceled)
			assert.Equal(t, []string{"torn down"}, out.Console)
			assert.EqualValues(t, 1, out.Result.Interrupted)
			assert.Zero(t, out.Result.Iterations)
			assert.FileExists(t, export)
			assert.Contains(t, out.Stdout, "NETWORK")
		})
	}
}

func TestHardEndsTeardownToo(t *testing.T) {
	hard, kill := context.WithCancelCause(context.Background())
	reason := errors.New("the second signal")
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { kill(reason) }))
	t.Cleanup(s.Close)
	out := scripttest.Run(t, fmt.Sprintf(`import http from 'k6/http'; export default function () {}
		export function teardown() { http.get(%q); for (;;); }`, s.URL), func(c *runner.Config) { c.Hard = hard })
	assert.Equal(t, runner.InterruptedRun, runner.KindOf(out.Err), "%v", out.Err)
	require.ErrorIs(t, out.Err, reason)
}

func TestAContextThatHasEndedRunsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out := scripttest.RunContext(ctx, t, "console.log('init'); for (;;); export default function () {}")
	assert.Equal(t, runner.InterruptedRun, runner.KindOf(out.Err), "%v", out.Err)
	assert.Nil(t, out.Result)
}

func TestAbortOnFail(t *testing.T) {
	out := scripttest.Run(t, `import { sleep } from 'k6';
		export const options = {duration: '1h', thresholds: {iterations: [{threshold: 'count<1', abortOnFail: true}]}};
		export default function () { sleep(0.01); }
		export function teardown() { console.log('torn down'); }`)
	assert.Equal(t, runner.ThresholdsFailed, runner.KindOf(out.Err), "%v", out.Err)
	assert.ErrorContains(t, out.Err, "abortOnFail")
	assert.Equal(t, []string{"torn down"}, out.Console)
	// Thresholds are looked at every 2 s.
	assert.GreaterOrEqual(t, out.Result.Duration, 2*time.Second)
	assert.Less(t, out.Result.Duration, 3900*time.Millisecond)
}

func TestPrecedenceOfOptions(t *testing.T) {
	src := "export const options = {vus: 2, iterations: 4, summaryTrendStats: ['avg']}; export default function () {}"
	run := func(environ []string, over runner.Options) runner.Options {
		out := scripttest.Run(t, src, func(c *runner.Config) { c.Environ, c.Overrides = environ, over })
		require.NoError(t, out.Err)
		return out.Result.Options
	}
	o := run(nil, runner.Options{})
	assert.Equal(t, []any{2, int64(4), []string{"avg"}}, []any{*o.VUs, *o.Iterations, o.SummaryTrendStats})
	o = run([]string{"K6_VUS=1", "K6_ITERATIONS=3", "K6_SUMMARY_TREND_STATS=max,p(99)"}, runner.Options{})
	assert.Equal(t, []any{1, int64(3), []string{"max", "p(99)"}}, []any{*o.VUs, *o.Iterations, o.SummaryTrendStats})
	o = run([]string{"K6_VUS=1", "K6_ITERATIONS=3"}, runner.Options{Duration: ptr(time.Second), SummaryTrendStats: []string{"med"}})
	assert.Equal(t, []any{1, (*int64)(nil), time.Second, []string{"med"}}, []any{*o.VUs, o.Iterations, *o.Duration, o.SummaryTrendStats})
	for env, want := range map[string]string{"K6_VUS=many": `K6_VUS: "many" is not a whole number`, "K6_DNS=ttl=0": "K6_DNS is not in the built-in runner"} {
		out := scripttest.Run(t, src, func(c *runner.Config) { c.Environ = []string{env} })
		assert.Equal(t, runner.InvalidConfig, runner.KindOf(out.Err))
		assert.ErrorContains(t, out.Err, want)
	}
}

func TestUnknownOptionsAreWarnings(t *testing.T) {
	out := scripttest.Run(t, "export const options = {vuz: 1, ext: {}, cloud: null}; export default function () {}")
	require.NoError(t, out.Err)
	assert.Equal(t, []string{`unknown option "vuz" in the script's options`}, out.Log)
}

func TestModulesCanBeAdded(t *testing.T) {
	out := scripttest.Run(t, `import { later } from 'k6/x/mine'; export default async function () { console.log(await later(20)); }`, func(c *runner.Config) {
		c.Modules = map[string]modules.Factory{"k6/x/mine": func(vu modules.VU) (modules.Exports, error) {
			return modules.Exports{Named: map[string]any{"later": func(n int) any {
				p, resolve, _ := vu.Runtime().NewPromise()
				done := vu.Callback()
				go done(func() error { return resolve(2 * n) })
				return p
			}}}, nil
		}}
	})
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"40"}, out.Console)
}

func TestResilienceIsThere(t *testing.T) {
	out := scripttest.Run(t, `import { Policy, Downstream } from 'k6/x/resilience';
		const p = new Policy('no-retry-standard-timeout');
		export const options = {iterations: 3, thresholds: {'resilience_requests{policy:no-retry-standard-timeout}': ['count==3']}};
		export function setup() { return { url: new Downstream({ scenario: 'fixed-delay', params: { delay: '1ms' } }).url }; }
		export default function ({ url }) { console.log(p.get(url + '/call').status); }`)
	require.NoError(t, out.Err, "%v", out.Log)
	assert.Equal(t, []string{"200", "200", "200"}, out.Console)
}

func TestThresholdsCanBeIgnored(t *testing.T) {
	out := scripttest.Run(t, "export const options = {thresholds: {iterations: ['count>1']}}; export default function () {}", func(c *runner.Config) { c.NoThresholds = true })
	require.NoError(t, out.Err)
	out = scripttest.Run(t, "export default function () {}", func(c *runner.Config) {
		c.Overrides.Thresholds = map[string][]thresholds.Spec{"iterations": {{Source: "count>1"}}}
	})
	assert.Equal(t, runner.ThresholdsFailed, runner.KindOf(out.Err))
}

func TestEveryVUInitialisesBeforeTheClockStarts(t *testing.T) {
	out := scripttest.Run(t, "console.log('init'); export const options = {vus: 5, iterations: 5}; export function setup() { console.log('setup'); } export default function () {}")
	require.NoError(t, out.Err)
	at := slices.Index(out.Console, "setup")
	// Once for the options, once for each VU and once for setup's own.
	assert.Equal(t, 7, at, "%v", out.Console)
}
