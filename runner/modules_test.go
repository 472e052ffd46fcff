package runner_test

import (
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner"
	"github.com/retrylab/retrylab/runner/internal/scripttest"
)

func TestModulesThatAreMissingAreRefusedByName(t *testing.T) {
	const k6Build = " is not in the built-in runner; use a k6 build (see README)"
	for name, want := range map[string]string{
		"k6/browser":                 "k6/browser" + k6Build,
		"k6/crypto/x509":             "k6/crypto/x509" + k6Build,
		"k6/experimental/csv":        "k6/experimental/csv" + k6Build,
		"k6/experimental/fs":         "k6/experimental/fs" + k6Build,
		"k6/experimental/streams":    "k6/experimental/streams" + k6Build,
		"k6/experimental/websockets": "k6/experimental/websockets" + k6Build,
		"k6/html":                    "k6/html" + k6Build,
		"k6/net/grpc":                "k6/net/grpc" + k6Build,
		"k6/secrets":                 "k6/secrets" + k6Build,
		"k6/websockets":              "k6/websockets" + k6Build,
		"k6/ws":                      "k6/ws" + k6Build,
		"k6/x/redis":                 "k6/x/redis" + k6Build,
		"k6/x/sql":                   "k6/x/sql" + k6Build,
		"k6/x/resilience/more":       "k6/x/resilience/more" + k6Build,
		"k6/htttp":                   "k6/htttp" + k6Build,
		"k6/":                        "k6/" + k6Build,
		"k6/experimental/browser":    "k6 has removed k6/experimental/browser; in its place came k6/browser, which the built-in runner has not",
		"k6/experimental/grpc":       "k6 has removed k6/experimental/grpc; in its place came k6/net/grpc, which the built-in runner has not",
		"k6/experimental/redis":      "k6 has removed k6/experimental/redis; in its place came k6/x/redis, which the built-in runner has not",
		"k6/experimental/timers":     "k6 has removed k6/experimental/timers; in its place came the global setTimeout and its like, or k6/timers",
		"k6/experimental/tracing":    "k6 has removed k6/experimental/tracing; in its place came the library http-instrumentation-tempo, which the built-in runner has not",
		"k6/experimental/webcrypto":  "k6 has removed k6/experimental/webcrypto; in its place came the global crypto",
		"https://jslib.k6.io/papaparse/5.1.1/index.min.js": "the built-in runner has k6-summary and k6-utils; keep a local copy of the other, or use a k6 build",
		"https://jslib.k6.io/":                             "the built-in runner has k6-summary and k6-utils",
		"https://example.com/x.js":                         "the built-in runner fetches no remote modules; keep a local copy, or use a k6 build",
		"http://example.com/x.js":                          "the built-in runner fetches no remote modules",
		"lodash":                                           "want a k6 module or a path that begins with ./, ../ or /",
		"./gone.js":                                        "/gone.js: no such file",
	} {
		t.Run(name, func(t *testing.T) {
			out := scripttest.Run(t, `import '`+name+`'; export default function () {}`)
			require.ErrorContains(t, out.Err, want)
			assert.Contains(t, out.Err.Error(), `"`+name+`"`)
			assert.Equal(t, runner.ScriptException, runner.KindOf(out.Err))

			out = scripttest.Run(t, `let got = ''; try { require('`+name+`'); } catch (e) { got = String(e); } export default function () { console.log(got); }`)
			require.NoError(t, out.Err)
			require.Len(t, out.Console, 1)
			assert.Contains(t, out.Console[0], `Error: require("`+name+`")`)
			assert.True(t, strings.Contains(out.Console[0], want) || strings.Contains(out.Console[0], "did not ask for it"), out.Console[0])
		})
	}
	out := scripttest.Run(t, `import ''; export default function () {}`)
	require.ErrorContains(t, out.Err, "want a module's name or a path")
}

func TestEveryModuleCanBeImportedAndRequired(t *testing.T) {
	for name, function := range map[string]string{
		"k6": "check", "k6/crypto": "md5", "k6/data": "SharedArray", "k6/encoding": "b64encode", "k6/http": "get",
		"k6/metrics": "Counter", "k6/timers": "setTimeout", "k6/x/resilience": "Policy",
		"https://jslib.k6.io/k6-utils/1.4.0/index.js":   "uuidv4",
		"https://jslib.k6.io/k6-summary/0.1.0/index.js": "textSummary",
	} {
		t.Run(name, func(t *testing.T) {
			out := scripttest.Run(t, `import { `+function+` } from '`+name+`'; import * as all from '`+name+`';
				const required = require('`+name+`'), dynamic = await import('`+name+`');
				export const options = {vus: 2, iterations: 2};
				export default function () { console.log(typeof `+function+`, [all, required, dynamic].every((m) => m.`+function+` === `+function+`)); }`)
			require.NoError(t, out.Err)
			assert.Equal(t, []string{"function true", "function true"}, out.Console)
		})
	}
}

func TestRequire(t *testing.T) {
	out := scripttest.Run(t, `
		const { check } = require('k6');
		const http = require('k6/http');
		const lib = require('./lib/lib.js');
		const esm = require('./lib/esm.js');
		const fn = require('./lib/fn.js');
		let thrown = ''; try { require('./lib/throws.js'); } catch (e) { thrown = e.message; }
		const refused = [undefined, null, '', './lib'].map((name) => { try { require(name); return 'passed'; } catch (e) { return String(e); } });
		module.exports.options = { vus: 2, iterations: 2 };
		exports.default = function () {
			console.log([typeof check, typeof http.get, lib.name, lib.again === lib, esm.default, esm.a, fn(2), lib.text, thrown].join(' ') + '|' + refused.join('|'));
		};`, scripttest.WithFiles(map[string]string{
		"lib/lib.js":        `exports.name = 'lib'; exports.again = require('../lib/./lib.js'); exports.text = open('./text.txt') + require('./deep/deep.js').text + open('text.txt');`,
		"lib/text.txt":      "text",
		"lib/esm.js":        `export default 'd'; export const a = 'a';`,
		"lib/fn.js":         `module.exports = (n) => n * 2;`,
		"lib/throws.js":     `throw new Error('boom');`,
		"lib/deep/deep.js":  `exports.text = open('deep.txt');`,
		"lib/deep/deep.txt": " deep ",
	}))
	require.NoError(t, out.Err)
	require.Len(t, out.Console, 2, "both virtual users say the same")
	for _, line := range out.Console {
		said := strings.Split(line, "|")
		require.Len(t, said, 5)
		assert.Equal(t, "function function lib true d a 4 text deep text boom", said[0])
		for _, refused := range said[1:4] {
			assert.Equal(t, "Error: require() needs the path of a file", refused)
		}
		assert.Contains(t, said[4], `Error: require("./lib")`)
	}
	assert.Equal(t, 2.0, value(out, "iterations", "count"))
}

func TestRequireInACycleGivesWhatIsThere(t *testing.T) {
	out := scripttest.Run(t, `const a = require('./a.js'); exports.default = () => console.log(a.early, a.seen, a.late);`, scripttest.WithFiles(map[string]string{
		"a.js": `exports.early = 1; exports.seen = require('./b.js').seen; exports.late = 3;`,
		"b.js": `const a = require('./a.js'); exports.seen = [a.early, a.late];`,
	}))
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"1 [ 1, null ] 3"}, out.Console)
}

func TestOpen(t *testing.T) {
	files := scripttest.WithFiles(map[string]string{
		"lib/lib.js": `export const own = open('./data.txt'); export const read = (name) => open(name);`,
		"data.txt":   "main", "lib/data.txt": "lib", "bytes.bin": "\x00\xff",
	})
	for script, want := range map[string]string{
		`open('data.txt')`:         "main",
		`open('./data.txt')`:       "main",
		`open('/data.txt')`:        "main",
		`open('file:///data.txt')`: "main",
		`open('../../data.txt')`:   "main",
		`open('lib/data.txt')`:     "lib",
		`open('data.txt', 'x')`:    "main",
		`own`:                      "lib",
		`read('data.txt')`:         "main", // as in k6, relative to who called at first
		`new Uint8Array(open('bytes.bin', 'b')).join()`: "0,255",
		`(() => { const b = new Uint8Array(open('bytes.bin', 'b')); b[0] = 9; return new Uint8Array(open('bytes.bin', 'b'))[0]; })()`: "0",

		`open('gone.txt')`:          `Error: open("gone.txt"): /gone.txt: no such file`,
		`open('./lib/../gone.txt')`: `Error: open("./lib/../gone.txt"): /gone.txt: no such file`,
		`open('lib')`:               `Error: open("lib"): /lib:`,
		`open()`:                    `Error: open() needs the path of a file`,
		`open('')`:                  `Error: open() needs the path of a file`,
		`open(null)`:                `Error: open() needs the path of a file`,
		`open({})`:                  `Error: open("[object Object]"): /[object Object]: no such file`,
	} {
		t.Run(script, func(t *testing.T) {
			out := scripttest.Run(t, `import { own, read } from './lib/lib.js';
				let got; try { got = String(`+script+`); } catch (e) { got = String(e); }
				export default function () { console.log(got); }`, files)
			require.NoError(t, out.Err)
			require.Len(t, out.Console, 1)
			assert.True(t, strings.HasPrefix(out.Console[0], want), out.Console[0])
		})
	}
	out := scripttest.Run(t, `if (__VU > 0) { open('data.txt'); } export default function () {}`, files)
	require.ErrorContains(t, out.Err, `open("data.txt"): /data.txt: the first run of the init code (__VU is 0) did not ask for it`)
}

func TestUtilsLibrary(t *testing.T) {
	for expression, want := range map[string]string{
		`many(() => u.randomIntBetween(-1, 1)).sort().join()`: "-1,0,1",
		`u.randomIntBetween(5, 5)`:                            "5",
		`many(() => u.randomItem(['a', 'b'])).sort().join()`:  "a,b",
		`u.randomItem([])`:                                    "undefined",
		`/^[a-z]{20}$/.test(u.randomString(20))`:              "true",
		`/^[xy]{20}$/.test(u.randomString(20, 'xy'))`:         "true",
		`u.randomString(0)`:                                   "",
		`[u.uuidv4(), u.uuidv4(true)].every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))`: "true",
		`u.uuidv4() === u.uuidv4()`: "false",
		`(() => { k6.randomSeed(3); const a = u.uuidv4(); k6.randomSeed(3); return a === u.uuidv4() && u.uuidv4(true) !== u.uuidv4(true); })()`: "true",
		`u.findBetween('<i>a</i><i>b</i>', '<i>', '</i>')`:              "a",
		`u.findBetween('<i>a</i><i>b</i>', '<i>', '</i>', true).join()`: "a,b",
		`u.findBetween('<i>a', '<i>', '</i>')`:                          "null",
		`u.findBetween('none', '<i>', '</i>', true)`:                    "null",
		`u.findBetween('ab', '', '', true).length`:                      "3",
		`JSON.stringify(u.normalDistributionStages(10, 10, 4))`:         `[{"duration":"2s","target":1},{"duration":"2s","target":6},{"duration":"2s","target":10},{"duration":"2s","target":6},{"duration":"2s","target":1},{"duration":"2s","target":0}]`,
		`u.normalDistributionStages(100, 60).length`:                    "12",
		`u.parseDuration('1d2h3m4s5.9ms')`:                              "93784005",
		`u.parseDuration('1.5s')`:                                       "1500",
		`u.parseDuration('250')`:                                        "250",
		`u.parseDuration(250)`:                                          "250",
		`u.parseDuration('')`:                                           `Error: parseDuration(): want a duration such as "1m30s", not nothing`,
		`u.parseDuration('1x')`:                                         `Error: parseDuration("1x"): want numbers with the units d, h, m, s or ms`,
		`u.parseDuration('1s2s')`:                                       `Error: parseDuration("1s2s"): the unit s comes twice`,
		`u.parseDuration('-1s')`:                                        `Error: parseDuration("-1s"): want numbers with the units d, h, m, s or ms`,
	} {
		t.Run(expression, func(t *testing.T) {
			out := scripttest.Run(t, `import * as u from 'https://jslib.k6.io/k6-utils/1.6.0/index.js'; import k6 from 'k6';
				const many = (f) => [...new Set(Array.from({length: 200}, f))];
				export default function () {
					let got; try { got = String(`+expression+`); } catch (e) { got = String(e); }
					console.log(got);
				}`)
			require.NoError(t, out.Err)
			assert.Equal(t, []string{want}, out.Console)
		})
	}
}

func TestStagesOfTheUtilsLibrary(t *testing.T) {
	run := func(scenario string) scripttest.Outcome {
		return scripttest.Run(t, `import { getCurrentStageIndex, tagWithCurrentStageIndex, tagWithCurrentStageProfile } from 'https://jslib.k6.io/k6-utils/1.3.0/index.js';
			import exec from 'k6/execution';
			export const options = { scenarios: { a: `+scenario+` } };
			let last = '';
			export default function () {
				try {
					tagWithCurrentStageIndex(); tagWithCurrentStageProfile();
					const now = [getCurrentStageIndex(), exec.vu.tags.stage, exec.vu.tags.stage_profile].join(' ');
					if (now !== last) { last = now; console.log(now); }
				} catch (e) { console.log(String(e)); }
			}`)
	}
	out := run(`{ executor: 'ramping-vus', startVUs: 1, gracefulRampDown: '1s', stages: [{ duration: '200ms', target: 1 }, { duration: '0.2s', target: 1 }, { duration: '200ms', target: 2 }, { duration: '200ms', target: 1 }] }`)
	require.NoError(t, out.Err)
	for _, want := range []string{"0 0 ramp-up", "1 1 steady", "2 2 ramp-up", "3 3 ramp-down"} {
		assert.Contains(t, out.Console, want)
	}
	out = run(`{ executor: 'per-vu-iterations', vus: 1, iterations: 1 }`)
	require.NoError(t, out.Err)
	assert.Equal(t, []string{`Error: the scenario "a" has no stages: only ramping-vus and ramping-arrival-rate have`}, out.Console)
}

func TestUtilsLibraryIsOneForAllVersions(t *testing.T) {
	out := scripttest.Run(t, `import { check as a } from 'https://jslib.k6.io/k6-utils/1.0.0/index.js'; import { check as b } from 'https://jslib.k6.io/k6-utils/99.1.0/index.min.js';
		export default function () { console.log(a === b); }`)
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"true"}, out.Console)
	out = scripttest.Run(t, `import { nope } from 'https://jslib.k6.io/k6-utils/1.0.0/index.js'; export default function () { nope(); }`)
	require.ErrorContains(t, out.Err, "nope")
}

func TestCheckOfTheUtilsLibraryWaits(t *testing.T) {
	out := scripttest.Run(t, `import { check } from 'https://jslib.k6.io/k6-utils/1.5.0/index.js';
		export const options = {thresholds: {'checks{check:later}': ['rate==1'], 'checks{check:no,a:b}': ['rate==0']}};
		export default async function () {
			const plain = check(5, {five: (v) => v === 5, yes: true});
			const later = check(5, {later: async (v) => v === 5, now: () => 'x'});
			const never = check(Promise.resolve(6), {no: async (v) => v === 5, promised: Promise.resolve(1)}, {a: 'b'});
			console.log(plain, later instanceof Promise, await later, await never);
		}`)
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"true true true false"}, out.Console)
	assert.Equal(t, 5.0, value(out, "checks", "passes"))
	assert.Equal(t, 1.0, value(out, "checks", "fails"))
}

func TestSummaryLibrary(t *testing.T) {
	const script = `import { check, group } from 'k6'; import { Trend, Counter } from 'k6/metrics';
		import { textSummary, jUnit } from 'https://jslib.k6.io/k6-summary/0.0.4/index.js';
		export const options = {iterations: 3, thresholds: {own: ['avg>1000', 'max<100'], checks: ['rate>0.1']}, summaryTrendStats: ['max', 'avg', 'p(99)', 'count']};
		const own = new Trend('own', true), things = new Counter('a<b>things'.replace(/\W/g, '_'));
		export default function () {
			own.add(7); things.add(2);
			check(1, {one: (v) => v === 1}); group('outer', () => group('inner', () => check(1, {'two & more': (v) => v === 2})));
		}
	`
	plain := scripttest.Run(t, script, func(c *runner.Config) { c.NoSummary = false })
	require.Contains(t, plain.Stdout, "THRESHOLDS")
	run := func(body string) string {
		out := scripttest.Run(t, script+"export function handleSummary(data) { "+body+" }", func(c *runner.Config) { c.NoSummary = false })
		require.Equal(t, runner.ThresholdsFailed, runner.KindOf(out.Err))
		require.NotContains(t, strings.Join(out.Log, "\n"), "handleSummary() failed")
		return out.Stdout
	}
	assert.Equal(t, withoutTimes(plain.Stdout), withoutTimes(run("return {stdout: textSummary(data, {enableColors: false})}")), "the same text as without handleSummary")

	text := run("return {stdout: textSummary(data, {indent: '> ', summaryTrendStats: ['max', 'none'], summaryTimeUnit: 's'})}")
	assert.Regexp(t, "\n> \x1b\\[1mEXECUTION\x1b\\[0m\n", text)
	assert.Regexp(t, "\n>   own +max=0.007s\n", text)

	text = run("delete data.metrics.own.values.max; return {stdout: textSummary(data, {enableColors: false})}")
	assert.Contains(t, text, "    ✓ max<100\n", "what it was is not known")

	text = run("return {stdout: textSummary({metrics: {only: {type: 'counter', contains: 'default', values: {count: 3, rate: 1.5}}}}, {enableColors: false})}")
	assert.Equal(t, "\nCUSTOM\n  only  3  1.5/s\n", text)

	xml := run("return {stdout: jUnit(data, {name: 'a & b'})}")
	assert.Contains(t, xml, `<testsuites tests="3" failures="1">`)
	assert.Contains(t, xml, `<testsuite name="a &amp; b" tests="3" failures="1">`)
	assert.Contains(t, xml, `<testcase name="own - max&lt;100"></testcase>`)
	assert.Regexp(t, `<testcase name="own - avg&gt;1000">\s*<failure message="failed, avg: 7, `, xml)
	assert.Contains(t, run("return {stdout: jUnit({metrics: {}})}"), `<testsuite name="k6 thresholds" tests="0" failures="0">`)

	for call, want := range map[string]string{
		`textSummary()`:             `Error: textSummary(): want the data of handleSummary as the first argument, not "undefined"`,
		`jUnit('x')`:                `Error: jUnit(): want the data of handleSummary as the first argument, not "x"`,
		`textSummary({metrics: 3})`: `Error: textSummary(): want the data of handleSummary as the first argument: json:`,
	} {
		assert.Contains(t, run("try { "+call+" } catch (e) { return {stdout: String(e)} }"), want)
	}
	out := scripttest.Run(t, `import { humanizeValue } from 'https://jslib.k6.io/k6-summary/0.0.4/index.js'; export default function () {}`)
	require.ErrorContains(t, out.Err, "humanizeValue of https://jslib.k6.io/k6-summary is not in the built-in runner")
}

// withoutTimes is a summary without the lines that differ from run to run.
func withoutTimes(text string) string {
	var keep []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.Contains(line, "/s") && !strings.Contains(line, "_duration") {
			keep = append(keep, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(keep, "\n")
}

func TestRandomSeedGivesTheNumbersOfK6(t *testing.T) {
	out := scripttest.Run(t, `import { randomSeed } from 'k6';
		export default function () { randomSeed(123456789); console.log(Math.random()); randomSeed(123456789); console.log(Math.random(), Math.random()); randomSeed(); randomSeed('x'); }`)
	require.NoError(t, out.Err)
	require.Len(t, out.Console, 2)
	first := strconv.FormatFloat(rand.New(rand.NewSource(123456789)).Float64(), 'g', -1, 64)
	assert.Equal(t, first, out.Console[0])
	assert.True(t, strings.HasPrefix(out.Console[1], first+" "), out.Console)
}

func TestImportsThatFailCanBeCaught(t *testing.T) {
	out := scripttest.Run(t, `const got = [];
		for (const name of ['./gone.js', './throws.js', 'k6/browser', './syntax.js']) {
			try { await import(name); } catch (e) { got.push(e.message); }
			try { require(name); } catch (e) { got.push(e.message); }
		}
		export const options = { vus: 2, iterations: 2 };
		export default async function () {
			console.log(got.length, got.filter((m) => /gone.js.*no such file|boom|k6\/browser is not|syntax.js:1/.test(m)).length);
			try { await import('./fine.js'); } catch (e) { console.log(e.message); }
		}`, scripttest.WithFiles(map[string]string{"throws.js": `export const a = 1; throw new Error('boom');`, "syntax.js": `const ;`, "fine.js": `export const a = 1;`}))
	require.NoError(t, out.Err)
	assert.Zero(t, out.Result.Threw)
	require.Len(t, out.Console, 4)
	assert.Contains(t, out.Console, "8 8")
	assert.Contains(t, strings.Join(out.Console, "\n"), "did not ask for it")
}

func TestGlobalsOfBrowsersThatK6Has(t *testing.T) {
	for expression, want := range map[string]string{
		`/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())`:                                                                                     "true",
		`crypto.randomUUID() === crypto.randomUUID()`:                                                                                                                                           "false",
		`(() => { const a = new Uint32Array(64); return crypto.getRandomValues(a) === a && a.some((n) => n > 65535); })()`:                                                                      "true",
		`(() => { const a = new Uint8Array(new ArrayBuffer(64), 32, 16); crypto.getRandomValues(a); return new Uint8Array(a.buffer, 0, 32).every((n) => n === 0) && a.some((n) => n > 0); })()`: "true",
		`crypto.getRandomValues(new Uint8Array(0)).length`:                                                                                                                                      "0",
		`crypto.getRandomValues(new Uint8Array(65536)).length`:                                                                                                                                  "65536",
		`crypto.getRandomValues(new Uint8Array(65537))`:                                                                                                                                         `QuotaExceededError: getRandomValues(): 65537 bytes are more than the 65536 it fills`,
		`crypto.getRandomValues([1])`:                 `TypeMismatchError: getRandomValues(): want a typed array of whole numbers, not "1"`,
		`crypto.getRandomValues(new Float32Array(1))`: `TypeMismatchError: getRandomValues(): want a typed array of whole numbers, not "0"`,
		`crypto.getRandomValues()`:                    `TypeMismatchError: getRandomValues(): want a typed array of whole numbers, not "undefined"`,
		`hex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode('hello world')))`:              "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
		`hex(await crypto.subtle.digest({name: 'sha-1'}, new TextEncoder().encode('hello world').buffer))`: "2aae6c35c94fcfb415dbe95f408b9ce91ee846ed",
		`(await crypto.subtle.digest('SHA-384', new Uint8Array(1))).byteLength`:                            "48",
		`(await crypto.subtle.digest('SHA-512', new Uint8Array(1))).byteLength`:                            "64",
		`await crypto.subtle.digest('MD5', new Uint8Array(1))`:                                             `NotSupportedError: crypto.subtle.digest(): unknown algorithm "MD5": want SHA-1, SHA-256, SHA-384 or SHA-512`,
		`await crypto.subtle.digest('SHA-1', 'text')`:                                                      `TypeError: crypto.subtle.digest(): want an ArrayBuffer or a Uint8Array, not text`,
		`await crypto.subtle.sign()`:                                                                       `Error: crypto.subtle.sign is not in the built-in runner; use a k6 build (see README)`,

		`new TextEncoder().encoding + new TextDecoder().encoding`:                                        "utf-8utf-8",
		`new TextEncoder().encode('é€😀').join()`:                                                         "195,169,226,130,172,240,159,152,128",
		`new TextEncoder().encode().length`:                                                              "0",
		`new TextDecoder().decode(new TextEncoder().encode('é€😀'))`:                                      "é€😀",
		`new TextDecoder('UTF8').decode(new Uint8Array([255, 65]).buffer)`:                               "\ufffdA",
		`new TextDecoder().decode()`:                                                                     "",
		`new TextDecoder().decode(new Uint8Array([239, 187, 191, 65])).length`:                           "1",
		`new TextDecoder('utf-8', {ignoreBOM: true}).decode(new Uint8Array([239, 187, 191, 65])).length`: "2",
		`(() => { const d = new TextDecoder(), o = {stream: true}; return d.decode(new Uint8Array([226, 130]), o) + d.decode(new Uint8Array([172, 65]), o) + d.decode(new Uint8Array([226])); })()`: "€A\ufffd",
		`new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([255]))`: `TypeError: TextDecoder.decode(): the bytes are not utf-8`,
		`new TextDecoder('utf-16le')`:                                           `RangeError: new TextDecoder("utf-16le"): the built-in runner decodes utf-8 only`,
		`new TextDecoder().decode('x')`:                                         `TypeError: TextDecoder.decode(): want an ArrayBuffer or a Uint8Array, not "x"`,
	} {
		t.Run(expression, func(t *testing.T) {
			out := scripttest.Run(t, `const hex = (b) => Array.from(new Uint8Array(b), (n) => n.toString(16).padStart(2, '0')).join('');
				export default async function () {
					let got; try { got = String(`+expression+`); } catch (e) { got = String(e); }
					console.log(got);
				}`)
			require.NoError(t, out.Err)
			assert.Equal(t, []string{want}, out.Console)
		})
	}
}
