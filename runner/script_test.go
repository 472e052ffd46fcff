package runner_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner"
	"github.com/retrylab/retrylab/runner/internal/scripttest"
)

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
			console.log(['fetch', 'URL', 'URLSearchParams', 'Buffer', 'process', 'window', 'self', 'document', 'WebSocket', 'XMLHttpRequest', 'Blob', 'File',
				'FormData', 'ReadableStream', 'setImmediate', 'queueMicrotask', 'structuredClone', 'performance', 'atob', 'btoa', 'Headers', 'Request', 'Response',
				'AbortController', 'Event', 'EventTarget', 'navigator', 'alert', 'Deno', '__dirname'].filter((n) => n in globalThis).length,
				initVU === __VU, __ITER, data, __ENV.A, __ENV.B, global === globalThis);
			for (const f of [open, require]) { try { f('x'); } catch (e) { console.log(String(e)); } }
		}`, func(c *runner.Config) { c.Env = map[string]string{"A": "a"} })
	require.NoError(t, out.Err)
	require.Contains(t, out.Console, "setup 0")
	assert.Contains(t, out.Console, "0 true 0 undefined a undefined true")
	assert.Contains(t, out.Console, "Error: open() works in the init context only (the script's top level)")
	assert.Contains(t, out.Console, "Error: require() works in the init context only (the script's top level)")
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
		assert.Contains(t, out.Stdout, "EXECUTION", body)
		assert.Contains(t, strings.Join(out.Log, "\n"), "handleSummary() failed", body)
	}
	shown := func(c *runner.Config) { c.NoSummary = false }
	out := scripttest.Run(t, "export default function () {} export function handleSummary() {}", shown)
	assert.Contains(t, out.Stdout, "EXECUTION", "nothing returned leaves it to the runner")
	out = scripttest.Run(t, "export default function () {} export function handleSummary() { return {} }", shown)
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
		`things false false false true Error: metric "things" already exists as a counter, not a gauge Error: invalid metric name "a b": want a letter or an underscore, then 1 to 128 letters, digits and underscores`,
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

func TestARejectionBelongsToItsIteration(t *testing.T) {
	out := scripttest.Run(t, `export const options = {iterations: 4};
		export default function () {
			if (__ITER === 0) { Promise.reject(new Error('first')); throw new Error('and this'); }
			if (__ITER === 2) { Promise.reject(new Error('second')); Promise.reject(new Error('third')); }
		}`)
	require.NoError(t, out.Err)
	assert.EqualValues(t, 2, out.Result.Threw)
}

func TestAScriptMayComeFromStdin(t *testing.T) {
	out := scripttest.Run(t, "", scripttest.WithFiles(map[string]string{"lib/l.js": "export const x = 7;"}), func(c *runner.Config) {
		c.Script, c.Stdin = "-", strings.NewReader("import { x } from './lib/l.js'; export default function () { console.log(x); }")
	})
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"7"}, out.Console)
}

func TestTooManyTagsAreWarnedOf(t *testing.T) {
	out := scripttest.Run(t, `import { Counter } from 'k6/metrics'; import { sleep } from 'k6';
		const c = new Counter('mine');
		export default function () { for (let i = 0; i < 100_000; i++) c.add(1, { i: String(i) }); sleep(1.2); }`)
	require.NoError(t, out.Err)
	assert.Contains(t, strings.Join(out.Log, "\n"), "different sets of tags, which are all kept: give requests to many URLs one name")
}
