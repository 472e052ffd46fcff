package vu_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/retrylab/retrylab/jsmodule"
	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/vu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what virtual users need, with a module whose functions are given.
type world struct {
	*vu.Shared
	hook *test.Hook
}

func newWorld(t *testing.T, src string, named func(modules.VU) map[string]any) *world {
	t.Helper()
	log, hook := test.NewNullLogger()
	fsys := fstest.MapFS{"main.js": {Data: []byte(src)}}
	r := metrics.NewRegistry()
	b, err := metrics.NewBuiltin(r)
	require.NoError(t, err)
	return &world{hook: hook, Shared: &vu.Shared{
		Loader: modules.NewLoader(func(p string) ([]byte, error) { return fs.ReadFile(fsys, strings.TrimPrefix(p, "/")) },
			map[string]modules.Factory{"k6/x": func(v modules.VU) (modules.Exports, error) {
				return modules.Exports{Named: named(v)}, nil
			}}, log),
		Registry: r, Builtin: b, Engine: metrics.NewEngine(r), Settings: &modules.Settings{}, Log: log, Repeats: vu.NewRepeats(log),
	}}
}

func (w *world) load(t *testing.T, id uint64) *vu.VU {
	t.Helper()
	v, _, err := vu.Load(context.Background(), w.Shared, id, "/main.js")
	require.NoError(t, err)
	t.Cleanup(v.Close)
	return v
}

// scenario runs the default function.
func scenario() *executor.Scenario { return &executor.Scenario{Name: "default", Exec: "default"} }

func TestAnEndlessScriptIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := newWorld(t, "import { running } from 'k6/x'; export default function () { running(); for (;;); }",
		func(modules.VU) map[string]any { return map[string]any{"running": func() { cancel() }} })
	v := w.load(t, 1)
	v.Activate(ctx, scenario())
	assert.Equal(t, executor.Interrupted, v.Iterate())
	v.Deactivate()
	assert.Empty(t, w.hook.AllEntries(), "an interruption is no error of the script")

	// Once the interruption is over, it runs again.
	again, cancel2 := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel2()
	v.Activate(again, scenario())
	assert.Equal(t, executor.Interrupted, v.Iterate())
	v.Deactivate()
}

func TestCallbacksHoldTheIterationAndComeInOrder(t *testing.T) {
	var got []string
	w := newWorld(t, "import { go } from 'k6/x'; export default function () { go(); }", func(v modules.VU) map[string]any {
		return map[string]any{"go": func() {
			first, second := v.Callback(), v.Callback()
			go func() {
				first(func() error { got = append(got, "first"); return nil })
				first(func() error { got = append(got, "a second use of the first"); return nil })
				second(func() error { got = append(got, "second"); return nil })
			}()
		}}
	})
	v := w.load(t, 1)
	v.Activate(context.Background(), scenario())
	defer v.Deactivate()
	assert.Equal(t, executor.Done, v.Iterate())
	assert.Equal(t, []string{"first", "second"}, got)
}

func TestCallbacksThatComeTooLateDoNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var late func(func() error)
	w := newWorld(t, "import { go } from 'k6/x'; export default function () { go(); }", func(v modules.VU) map[string]any {
		return map[string]any{"go": func() {
			if late == nil {
				late = v.Callback()
				cancel()
			}
		}}
	})
	v := w.load(t, 1)
	v.Activate(ctx, scenario())
	assert.Equal(t, executor.Interrupted, v.Iterate())
	v.Deactivate()
	late(func() error { t.Error("it ran"); return nil })
	v.Activate(context.Background(), scenario())
	defer v.Deactivate()
	assert.Equal(t, executor.Done, v.Iterate())
}

func TestAnErrorWaitsForCallbacksThatAreOut(t *testing.T) {
	release := make(chan struct{})
	ended := false
	w := newWorld(t, "import { go } from 'k6/x'; export default function () { go(); setTimeout(() => {}, 1e9); throw new Error('boom'); }", func(v modules.VU) map[string]any {
		return map[string]any{"go": func() {
			done := v.Callback()
			go func() {
				<-release
				done(func() error { t.Error("a task ran after the error"); return nil })
			}()
			time.AfterFunc(5*time.Millisecond, func() { ended = true; close(release) })
		}}
	})
	v := w.load(t, 1)
	v.Activate(context.Background(), scenario())
	defer v.Deactivate()
	assert.Equal(t, executor.Threw, v.Iterate())
	assert.True(t, ended)
}

func TestTaskErrorsEndTheIteration(t *testing.T) {
	w := newWorld(t, "import { go } from 'k6/x'; export default function () { go(); }", func(v modules.VU) map[string]any {
		return map[string]any{"go": func() { go v.Callback()(func() error { return errors.New("from Go") }) }}
	})
	v := w.load(t, 1)
	v.Activate(context.Background(), scenario())
	defer v.Deactivate()
	assert.Equal(t, executor.Threw, v.Iterate())
	assert.Contains(t, w.hook.LastEntry().Message, "from Go")
}

func TestHost(t *testing.T) {
	var host jsmodule.Host
	var registered, conflict jsmodule.Metric
	w := newWorld(t, "import { go } from 'k6/x'; export default function () { go(); }", func(v modules.VU) map[string]any {
		h := vu.NewHost(v)
		host = h
		assert.True(t, h.InitContext())
		assert.Nil(t, h.Transport())
		assert.NotNil(t, h.Context())
		var err error
		registered, err = h.NewMetric("res_wait", jsmodule.Trend, true)
		require.NoError(t, err)
		same, err := h.NewMetric("res_wait", jsmodule.Trend, true)
		require.NoError(t, err)
		assert.Same(t, registered, same)
		conflict, err = h.NewMetric("res_wait", jsmodule.Counter, false)
		require.ErrorContains(t, err, "already exists")
		assert.Nil(t, conflict)
		return map[string]any{"go": func() {
			tags := h.Tags("policy", "p1", "odd")
			ctx, cancel := context.WithCancel(h.Context())
			h.Push(ctx, jsmodule.Sample{Metric: registered, Value: 5, Tags: tags}, jsmodule.Sample{Metric: "not one", Value: 1})
			cancel()
			h.Push(ctx, jsmodule.Sample{Metric: registered, Value: 7, Tags: tags})
		}}
	})
	v := w.load(t, 3)
	sub, err := w.Registry.Find("res_wait{policy:p1,scenario:default}")
	require.NoError(t, err)
	assert.EqualValues(t, 3, host.VU())
	assert.False(t, host.InitContext())
	assert.NotNil(t, host.Transport())
	assert.Same(t, v.Runtime(), host.Runtime())
	_, err = host.NewMetric("late", jsmodule.Counter, false)
	require.ErrorContains(t, err, "init context")
	v.Activate(context.Background(), scenario())
	defer v.Deactivate()
	require.Equal(t, executor.Done, v.Iterate())
	w.Engine.View(func() {
		trend := sub.Sink().(*metrics.TrendSink)
		assert.EqualValues(t, 1, trend.Count())
		assert.Equal(t, 5.0, trend.Max())
		assert.Equal(t, metrics.Time, sub.Contains)
	})
}

func TestRepeatsAreCountedAndBounded(t *testing.T) {
	log, hook := test.NewNullLogger()
	r := vu.NewRepeats(log)
	for range 3 {
		r.Error("boom\n\tat x", "threw")
	}
	r.Warn("once", "just once")
	for i := range 250 {
		r.Warn(strings.Repeat("x", i+1), "distinct")
	}
	r.Flush()
	var all []string
	for _, e := range hook.AllEntries() {
		all = append(all, e.Message)
	}
	assert.Equal(t, "threw: boom\n\tat x", all[0])
	assert.Equal(t, "just once", all[1])
	assert.Contains(t, all, "threw: boom (×3)")
	assert.Contains(t, all, "52 more messages, all different, were not logged")
	assert.NotContains(t, all, "just once (×1)")
}

func TestInitThatNeverEndsIsAnError(t *testing.T) {
	w := newWorld(t, "await new Promise(() => {}); export default function () {}", func(modules.VU) map[string]any { return nil })
	_, _, err := vu.Load(context.Background(), w.Shared, 0, "/main.js")
	require.ErrorContains(t, err, "awaits something that never comes")
}

func TestInitCanAwaitTimers(t *testing.T) {
	w := newWorld(t, "export const got = await new Promise((ok) => setTimeout(() => ok('there'), 1)); export default function () {}", func(modules.VU) map[string]any { return nil })
	v := w.load(t, 0)
	assert.Equal(t, "there", v.Export("got").String())
}

func TestConsoleShowsValues(t *testing.T) {
	for script, want := range map[string]string{
		`'text', "b"`:                          `text b`,
		`1, 1e21, -0, NaN`:                     `1 1e+21 0 NaN`,
		`null, undefined`:                      `null undefined`,
		`true, Symbol('s')`:                    `true s`,
		``:                                     ``,
		`[]`:                                   `[]`,
		`[1, {b: 2}, 'c']`:                     `[ 1, { b: 2 }, "c" ]`,
		`[1, , undefined]`:                     `[ 1, null, null ]`,
		`{}`:                                   `{}`,
		`({a: 'x', b: {c: null}})`:             `{ a: "x", b: { c: null } }`,
		`() => 1, {f() {}}`:                    `[object Function] { f: [object Function] }`,
		`new Date(0), {d: new Date(0)}`:        `"1970-01-01T00:00:00.000Z" { d: "1970-01-01T00:00:00.000Z" }`,
		`new Date(NaN)`:                        `{}`,
		`new Error('e'), [new TypeError('t')]`: `Error: e [ TypeError: t ]`,
		`new Map([[1, 2]]), /x/`:               `{} {}`,
		`loop`:                                 `{ self: [Circular], list: [ [Circular] ] }`,
		`[twice, twice]`:                       `[ { n: 1 }, { n: 1 } ]`,
		`new Uint8Array([0, 255])`:             `Uint8Array(2) [ 0, 255 ]`,
		`new Float64Array()`:                   `Float64Array(0) []`,
		`new BigInt64Array([-1n])`:             `BigInt64Array(1) [ -1 ]`,
		`{b: new Uint8Array([1, 171]).buffer}`: `{ b: ArrayBuffer { [Uint8Contents]: <01 ab>, byteLength: 2 } }`,
		`new ArrayBuffer(0)`:                   `ArrayBuffer { [Uint8Contents]: <>, byteLength: 0 }`,
		`Object.create({up: 1})`:               `{}`,
	} {
		t.Run(script, func(t *testing.T) {
			w := newWorld(t, `const twice = {n: 1}, loop = {}; loop.self = loop; loop.list = [loop]; console.log(`+script+`);
				export default function () {}`, func(modules.VU) map[string]any { return nil })
			w.load(t, 0)
			require.Len(t, w.hook.AllEntries(), 1)
			assert.Equal(t, want, w.hook.LastEntry().Message)
		})
	}
}

func TestConsoleHasLevels(t *testing.T) {
	w := newWorld(t, `for (const level of ['log', 'info', 'warn', 'error', 'debug']) console[level](level);
		export default function () {}`, func(modules.VU) map[string]any { return nil })
	w.load(t, 0)
	var got []string
	for _, e := range w.hook.AllEntries() { // the logger's level is info
		got = append(got, e.Message+" "+e.Level.String())
	}
	assert.Equal(t, []string{"log info", "info info", "warn warning", "error error"}, got)
}

func TestTimersComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, `
			const got = [], say = (s) => () => got.push(s);
			export default function () {
				setTimeout(say('c'), 2);
				setTimeout(say('a'), 0); setTimeout(say('b'), 0);
				clearTimeout(setTimeout(say('never'), 1)); clearTimeout(99); clearTimeout(undefined);
				clearInterval(setTimeout(say('never'), 1e9));
				setTimeout(() => { Promise.resolve().then(say('between')); }, 0);
				setTimeout(say('after'), 0);
				setTimeout(function () { got.push(this === globalThis); }, 3);
				setTimeout(say('no number'), 'x'); setTimeout(say('negative'), -5);
				let n = 0;
				const id = setInterval((step) => { n += step; got.push(n); if (n === 6) { clearInterval(id); setTimeout(say('end'), 0); } }, 5, 2);
			}
			export const result = () => got.join();`, func(modules.VU) map[string]any { return nil })
		v := w.load(t, 1)
		v.Activate(context.Background(), scenario())
		start := time.Now()
		require.Equal(t, executor.Done, v.Iterate())
		assert.Equal(t, 15*time.Millisecond, time.Since(start))
		v.Deactivate()
		out, err := v.Call(context.Background(), "result", "")
		require.NoError(t, err)
		assert.Equal(t, `"a,b,between,after,no number,negative,c,true,2,4,6,end"`, string(out))
		v.Close()
	})
}

func TestTimersAreDroppedWithTheirIteration(t *testing.T) {
	w := newWorld(t, `
		let n = 0;
		export default function () {
			n++;
			setTimeout(() => { setTimeout(() => {}, 1e9); setInterval(() => {}, 1e9); throw new Error('boom'); }, 0);
			setTimeout(() => { n = 1e6; }, 1);
			setTimeout(() => { n = 1e6; }, 1e9);
		}
		export const result = () => new Promise((ok) => setTimeout(() => ok(n), 1));`, func(modules.VU) map[string]any { return nil })
	v := w.load(t, 1)
	v.Activate(context.Background(), scenario())
	for range 3 {
		require.Equal(t, executor.Threw, v.Iterate())
	}
	v.Deactivate()
	out, err := v.Call(context.Background(), "result", "")
	require.NoError(t, err)
	assert.Equal(t, "3", string(out))
}

func TestSeed(t *testing.T) {
	draw := func(seed *uint64, id uint64) string {
		w := newWorld(t, "const init = Math.random(); export const draw = () => [init, Math.random()]; export default function () {}", func(modules.VU) map[string]any { return nil })
		w.Seed = seed
		out, err := w.load(t, id).Call(context.Background(), "draw", "")
		require.NoError(t, err)
		return string(out)
	}
	one, two := uint64(1), uint64(2)
	assert.Equal(t, draw(&one, 1), draw(&one, 1), "one seed repeats")
	assert.NotEqual(t, draw(&one, 1), draw(&one, 2), "virtual users differ")
	assert.NotEqual(t, draw(&one, 1), draw(&two, 1), "seeds differ")
	assert.NotEqual(t, draw(nil, 1), draw(nil, 1), "chance")

	w := newWorld(t, "export const draw = () => Math.random(); export default function () {}", func(modules.VU) map[string]any { return nil })
	v := w.load(t, 1)
	v.Seed(7)
	first, err := v.Call(context.Background(), "draw", "")
	require.NoError(t, err)
	v.Seed(7)
	second, err := v.Call(context.Background(), "draw", "")
	require.NoError(t, err)
	assert.Equal(t, first, second)
}
