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
	"strings"
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
  mine.add(double(1)); level.add(__VU); good.add(res.status === 200); took.add(res.timings.duration);
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
		"option not there":       {"export const options = {stages: [{duration: '1s', target: 1}], scenarios: {}}; export default function () {}", runner.InvalidConfig, "options.stages is not in the built-in runner; use a k6 build"},
		"does not parse":         {"export default function ( {", runner.ScriptException, "/main.js:1:"},
		"init throws":            {"throw new Error('early'); export default function () {}", runner.ScriptException, "early"},
		"init rejects":           {"await Promise.reject(new Error('early')); export default function () {}", runner.ScriptException, "early"},
		"setup throws":           {"export function setup() { throw new Error('in setup'); } export default function () {}", runner.ScriptException, "in setup"},
		"teardown throws":        {"export function teardown() { throw new Error('in teardown'); } export default function () {}", runner.ScriptException, "in teardown"},
		"no default":             {"export function other() {}", runner.ScriptException, "no default function"},
		"default is no function": {"export default 3;", runner.ScriptException, "no default function"},
		"module not there":       {"import b from 'k6/browser'; export default function () {}", runner.ScriptException, "k6/browser is not in the built-in runner"},
		"export not there":       {"import { CookieJar } from 'k6/http'; export default function () {}", runner.ScriptException, "CookieJar of k6/http is not in the built-in runner"},
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
	for name, src := range map[string]string{
		"main.js":  "import { t } from './lib/l.js'; export default function () { console.log(t, open === undefined); }",
		"lib/l.js": "export const t = open('./data.txt') + open('../main.js').length + new Uint8Array(open('data.txt', 'b')).length;", "lib/data.txt": "data",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(src), 0o644))
	}
	out := scripttest.Run(t, "", func(c *runner.Config) { c.FS, c.Script = nil, filepath.Join(dir, "main.js") })
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"data1064 false"}, out.Console)
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
			assert.Contains(t, out.Stdout, "METRICS")
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
	assert.Less(t, out.Result.Duration, time.Minute)
}

func TestErrorsOfIterationsAreLoggedOnceAndCounted(t *testing.T) {
	out := scripttest.Run(t, "export const options = {iterations: 5};\nfunction inner() { throw new Error('boom'); }\nexport default function () { inner(); }")
	require.NoError(t, out.Err)
	assert.EqualValues(t, 5, out.Result.Threw)
	require.Len(t, out.Log, 3)
	assert.Contains(t, out.Log[0], "Error: boom")
	assert.Contains(t, out.Log[0], "inner (/main.js:2:")
	assert.Contains(t, out.Log[1], "(×5)")
	assert.Contains(t, out.Log[2], "every iteration threw (5 of 5)")
	assert.Equal(t, 5.0, value(out, "iterations", "count"))

	out = scripttest.Run(t, "export const options = {iterations: 2}; export default function () { if (__ITER) throw 'text'; }")
	assert.NotContains(t, strings.Join(out.Log, "\n"), "every iteration threw")
	assert.Contains(t, out.Log[0], "text")
}

func value(out scripttest.Outcome, metric, name string) float64 {
	for _, m := range out.Result.Summary.Metrics {
		if m.Name == metric {
			return m.Get(name)
		}
	}
	return -1
}

func TestRejectedPromisesAreErrorsOfTheIteration(t *testing.T) {
	for _, body := range []string{
		"async function () { throw new Error('rejected'); }",
		"async function () { await null; throw new Error('rejected'); }",
		"function () { Promise.reject(new Error('rejected')); }",
		"function () { setTimeout(() => { throw new Error('rejected'); }, 1); }",
		"async function () { await new Promise((_, no) => setTimeout(() => no(new Error('rejected')), 1)); }",
		"function () { return Promise.reject('rejected'); }",
	} {
		out := scripttest.Run(t, "export default "+body)
		assert.EqualValues(t, 1, out.Result.Threw, body)
		assert.Contains(t, strings.Join(out.Log, "\n"), "rejected", body)
	}
	out := scripttest.Run(t, "export default async function () { try { await Promise.reject(1); } catch (e) { console.log('caught', e); } }")
	assert.Zero(t, out.Result.Threw)
	assert.Equal(t, []string{"caught 1"}, out.Console)
}

func TestTimersKeepTheIterationGoing(t *testing.T) {
	out := scripttest.Run(t, `export default function () {
		const gone = setTimeout(() => console.log('never'), 1); clearTimeout(gone);
		let n = 0; const id = setInterval((who) => { console.log(who, ++n); if (n === 3) clearInterval(id); }, 1, 'tick');
		setTimeout(() => console.log('late', n), 60);
	}`)
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"tick 1", "tick 2", "tick 3", "late 3"}, out.Console)
}

func TestGlobals(t *testing.T) {
	out := scripttest.Run(t, `export const options = {vus: 2, iterations: 2};
		const initVU = __VU;
		export function setup() { console.log('setup', __VU); }
		export default function (data) {
			console.log(['fetch', 'URL', 'Buffer', 'process', 'require', 'window'].filter((n) => typeof globalThis[n] !== 'undefined').length,
				initVU === __VU, __ITER, data, __ENV.A, __ENV.B);
			try { open('x'); } catch (e) { console.log(String(e)); }
		}`, func(c *runner.Config) { c.Env = map[string]string{"A": "a"} })
	require.NoError(t, out.Err)
	require.Contains(t, out.Console, "setup 0")
	assert.Contains(t, out.Console, "0 true 0 undefined a undefined")
	assert.Contains(t, out.Console, "Error: open() works in the init context only (the script's top level)")
}

func TestSetupDataIsEachVUsOwnCopy(t *testing.T) {
	out := scripttest.Run(t, `export const options = {vus: 1, iterations: 2};
		export async function setup() { return { n: 1, f: () => 1, u: undefined, d: new Date(0) }; }
		export default function (data) { console.log(JSON.stringify(data)); data.n++; }
		export function teardown(data) { console.log('teardown', JSON.stringify(data)); }`)
	require.NoError(t, out.Err)
	assert.Equal(t, []string{
		`{"n":1,"d":"1970-01-01T00:00:00.000Z"}`, `{"n":2,"d":"1970-01-01T00:00:00.000Z"}`,
		`teardown {"n":1,"d":"1970-01-01T00:00:00.000Z"}`,
	}, out.Console)
}

func TestHandleSummaryThatFailsLeavesTheUsualSummary(t *testing.T) {
	for _, body := range []string{"throw new Error('no summary')", "return 'no summary'", "return {stdout: 3}"} {
		out := scripttest.Run(t, "export default function () {} export function handleSummary() { "+body+" }", func(c *runner.Config) { c.NoSummary = false })
		require.NoError(t, out.Err)
		assert.Contains(t, out.Stdout, "METRICS", body)
		assert.Contains(t, strings.Join(out.Log, "\n"), "handleSummary() failed", body)
	}
	out := scripttest.Run(t, "export default function () {} export function handleSummary() {}", func(c *runner.Config) { c.NoSummary = false })
	assert.Empty(t, out.Stdout)
	out = scripttest.Run(t, "export default function () {} export function handleSummary() { return {stdout: 'x'} }")
	assert.Empty(t, out.Stdout, "--no-summary")
}

func TestMetricsOfTheScript(t *testing.T) {
	out := scripttest.Run(t, `import { Counter, Trend } from 'k6/metrics'; import * as m from 'k6/metrics';
		const c = new Counter('things'), t = new Trend('took', true);
		let conflict = ''; try { new m.Gauge('things'); } catch (e) { conflict = String(e); }
		let name = ''; try { new Counter('a b'); } catch (e) { name = String(e); }
		export const options = {thresholds: {'things{a:1}': ['count==2'], 'things{b:true}': ['count==5']}};
		export default function () {
			c.add(2, {a: 1}); c.add(true); c.add(5, {b: true}); t.add('1.5');
			console.log(c.name, c.add('x'), c.add(), c.add(null), c.add(1) , conflict, name);
			try { new Counter('late'); } catch (e) { console.log(String(e)); }
			try { c.add(1, {a: {}}); } catch (e) { console.log(String(e)); }
		}`)
	require.NoError(t, out.Err)
	assert.Equal(t, []string{
		`things false false false true Error: metric "things" already exists as a counter, not a gauge Error: invalid metric name "a b": want a letter or an underscore, then letters, digits and underscores, at most 128`,
		`Error: metric "late": metrics are made in the init context only (the script's top level)`,
		`Error: metric "things": tags: the value of "a" is "[object Object]", want text, a number or a boolean`,
	}, out.Console)
	assert.Equal(t, 9.0, value(out, "things", "count"))
	assert.Equal(t, 1.5, value(out, "took", "avg"))
	assert.Contains(t, out.Log, `metric "things": add() needs a number or a boolean, not "x"`)
}

func TestChecksAndGroups(t *testing.T) {
	out := scripttest.Run(t, `import { check, group, fail, sleep, randomSeed } from 'k6';
		export const options = {thresholds: {'checks{kind:x}': ['rate==1'], 'group_duration{group:::a::b}': ['max<10000']}};
		export default function () {
			console.log(check(1, {yes: (v) => v === 1, plain: true}, {kind: 'x'}), check(1, {no: () => 0}), group('a', () => group('b', () => 7)));
			for (const f of [() => check(1), () => check(1, {'a::b': true}), () => group('x::y', () => 1), () => group('g'), () => group('g', async () => 1),
				() => check(1, {p: async () => 1}), () => check(1, {bang: () => { throw new Error('bang'); }}), () => fail('failed'), () => group('t', () => { throw new Error('through'); })]) {
				try { f(); console.log('passed'); } catch (e) { console.log(String(e)); }
			}
			randomSeed(7); const a = Math.random(); randomSeed(7); const b = Math.random(); randomSeed(8);
			console.log(a === b, a === Math.random()); sleep(0); sleep(-1); sleep(NaN);
		}`)
	require.NoError(t, out.Err)
	assert.Equal(t, []string{
		"true false 7",
		"Error: check() needs an object of checks as its second argument",
		`Error: check(): the name "a::b" must not contain "::"`,
		`Error: group(): the name "x::y" must not contain "::"`,
		`Error: group("g") needs a function as its second argument`,
		`Error: group("g") does not take an async function: the group would end at its first await`,
		`Error: check(): "p" is an async function, and its promise would always pass`,
		"Error: bang", "Error: failed", "Error: through",
		"true false",
	}, out.Console)
	assert.Equal(t, 2.0, value(out, "checks", "passes"))
	assert.Equal(t, 2.0, value(out, "checks", "fails"), "the check that threw has failed")
	assert.GreaterOrEqual(t, value(out, "group_duration{group:::a::b}", "max"), 0.0)
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
	o = run([]string{"K6_VUS=1", "K6_ITERATIONS=3"}, runner.Options{Duration: ptr(time.Millisecond), SummaryTrendStats: []string{"med"}})
	assert.Equal(t, []any{1, (*int64)(nil), time.Millisecond, []string{"med"}}, []any{*o.VUs, o.Iterations, *o.Duration, o.SummaryTrendStats})
	for env, want := range map[string]string{"K6_VUS=many": `K6_VUS: "many" is not a whole number`, "K6_STAGES=1s:2": "K6_STAGES is not in the built-in runner"} {
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
		export function setup() { return { url: new Downstream({ scenario: 'fixed-delay', delay: '1ms' }).url }; }
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
	var order []string
	out := scripttest.Run(t, "console.log('init'); export const options = {vus: 5, iterations: 5}; export function setup() { console.log('setup'); } export default function () {}")
	require.NoError(t, out.Err)
	order = out.Console
	at := slices.Index(order, "setup")
	// Once for the options, once for each VU and once for setup's own.
	assert.Equal(t, 7, at, "%v", order)
}
