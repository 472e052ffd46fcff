package modules_test

import (
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/modules"
)

// fakeVU is a virtual user with nothing but a runtime.
type fakeVU struct {
	modules.VU
	rt *sobek.Runtime
}

func newVU() *fakeVU { return &fakeVU{rt: sobek.New()} }

func (f *fakeVU) Runtime() *sobek.Runtime { return f.rt }
func (f *fakeVU) InitContext() bool       { return true }

// world is a loader over files, with one module written in Go.
type world struct {
	loader    *modules.Loader
	reads     atomic.Int64
	instances atomic.Int64
}

func newWorld(files map[string]string) *world {
	w := &world{}
	fsys := make(fstest.MapFS)
	for name, src := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(src)}
	}
	log, _ := test.NewNullLogger()
	w.loader = modules.NewLoader(func(p string) ([]byte, error) {
		w.reads.Add(1)
		return fs.ReadFile(fsys, strings.TrimPrefix(p, "/"))
	}, map[string]modules.Factory{
		"k6/fake": func(modules.VU) (modules.Exports, error) {
			n := w.instances.Add(1)
			return modules.Exports{Named: map[string]any{"number": n, "twice": func(x int) int { return 2 * x }}}, nil
		},
		"k6/own": func(modules.VU) (modules.Exports, error) {
			return modules.Exports{Named: map[string]any{"a": 1}, Default: "the default"}, nil
		},
		"k6/lone": func(vu modules.VU) (modules.Exports, error) {
			o := vu.Runtime().NewObject()
			n := 40
			return modules.Exports{Default: o}, o.DefineAccessorProperty("next", vu.Runtime().ToValue(func() int { n++; return n }), nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
		},
		"k6/broken": func(modules.VU) (modules.Exports, error) { return modules.Exports{}, errors.New("no such luck") },
	}, log)
	return w
}

// load loads /main.js in a first virtual user and evaluates it there.
func (w *world) load() (*modules.Script, *sobek.Object, error) {
	v := newVU()
	w.loader.Attach(v)
	s, err := w.loader.Load("/main.js", v)
	if err != nil {
		return nil, nil, err
	}
	o, err := evaluate(s, v)
	return s, o, err
}

func evaluate(s *modules.Script, v modules.VU) (*sobek.Object, error) {
	p := s.Evaluate(v.Runtime())
	if p.State() != sobek.PromiseStateFulfilled {
		err, ok := p.Result().Export().(error)
		if !ok {
			err = errors.New(p.Result().String())
		}
		return nil, err
	}
	return s.Exports(v.Runtime()), nil
}

func TestImports(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"named":               {"main.js": `import { twice } from 'k6/fake'; export const got = twice(21);`},
		"namespace":           {"main.js": `import * as f from 'k6/fake'; export const got = f.twice(21);`},
		"default is them all": {"main.js": `import f from 'k6/fake'; export const got = f.twice(21);`},
		"own default":         {"main.js": `import d, { a } from 'k6/own'; export const got = d === 'the default' && a === 1 ? 42 : 0;`},
		"lone default":        {"main.js": `import d, { next } from 'k6/lone'; import * as all from 'k6/lone'; export const got = d.next === 41 && next === 42 && all.next === 43 && all.default === d ? 42 : 0;`},
		"re-export":           {"main.js": `import { twice } from './lib/l.js'; export const got = twice(21);`, "lib/l.js": `export { twice } from 'k6/fake';`},
		"star re-export":      {"main.js": `import { twice } from './l.js'; export const got = twice(21);`, "l.js": `export * from 'k6/fake';`},
		"parent folder":       {"main.js": `import { x } from './lib/l.js'; export const got = x;`, "lib/l.js": `import { y } from '../y.js'; export const x = y;`, "y.js": `export const y = 42;`},
		"file URL":            {"main.js": `import { y } from 'file:///y.js'; export const got = y;`, "y.js": `export const y = 42;`},
		"cycle": {
			"main.js": `import { even } from './even.js'; export const got = even(10) ? 42 : 0;`,
			"even.js": `import { odd } from './odd.js'; export function even(n) { return n === 0 || odd(n - 1); }`,
			"odd.js":  `import { even } from './even.js'; export function odd(n) { return n !== 0 && even(n - 1); }`,
		},
		"typescript":         {"main.js": `import { f } from './t.ts'; export const got = f({ n: 41 });`, "t.ts": "interface A { n: number }\nenum E { One = 1 }\nexport const f = (a: A): number => a.n + E.One;"},
		"lowered syntax":     {"main.js": `async function* g() { yield 1; } export const got = typeof g === 'function' ? 42 : 0;`},
		"missing source map": {"main.js": "export const got = 42;\n//# sourceMappingURL=gone.js.map"},
		"top-level await":    {"main.js": `export const got = await Promise.resolve(42);`},
	} {
		t.Run(name, func(t *testing.T) {
			_, exports, err := newWorld(files).load()
			require.NoError(t, err)
			assert.EqualValues(t, 42, exports.Get("got").ToInteger())
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		main string
		want []string
	}{
		"module that is missing": {`import b from 'k6/browser';`, []string{"k6/browser is not in the built-in runner; use a k6 build (see README)"}},
		"export that is missing": {`import { twice, jar } from 'k6/fake';`, []string{"jar of k6/fake is not in the built-in runner", "use a k6 build"}},
		"remote module":          {`import x from 'https://example.com/x.js';`, []string{`"https://example.com/x.js"`, "/main.js", "no remote modules"}},
		"missing file":           {`import x from './lib/gone.js';`, []string{`"./lib/gone.js"`, "in /main.js", "/lib/gone.js", "no such file"}},
		"bare name":              {`import x from 'lodash';`, []string{`"lodash"`, "begins with ./"}},
		"syntax":                 {"\n\nexport default function ( {", []string{"/main.js:3:"}},
		"module that fails":      {`import 'k6/broken';`, []string{"import k6/broken: no such luck"}},
		"throws":                 {`throw new Error('at the top');`, []string{"at the top", "/main.js:1:"}},
		"missing local export":   {`import { nope } from './ok.js';`, []string{"nope"}},
	} {
		t.Run(name, func(t *testing.T) {
			script, _, err := newWorld(map[string]string{"main.js": c.main, "ok.js": "export const a = 1;"}).load()
			require.Error(t, err)
			if script != nil {
				err = script.Explain(err)
			}
			text := err.Error()
			var ex *sobek.Exception
			if errors.As(err, &ex) {
				text = ex.String()
			}
			for _, w := range c.want {
				assert.Contains(t, text, w)
			}
		})
	}
}

func TestMissingScript(t *testing.T) {
	_, _, err := newWorld(nil).load()
	require.ErrorIs(t, err, modules.ErrNoScript)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, `"/main.js"`)
}

func TestSourcesAreReadOnceAndInstancesAreEachVUsOwn(t *testing.T) {
	w := newWorld(map[string]string{
		"main.js":  `import { number } from 'k6/fake'; import { next } from './state.js'; export const got = number; export const n = next();`,
		"state.js": `let n = 0; export const next = () => ++n;`,
	})
	script, exports, err := w.load()
	require.NoError(t, err)
	assert.EqualValues(t, 1, exports.Get("got").ToInteger())
	for i := int64(2); i <= 4; i++ {
		v := newVU()
		detach := w.loader.Attach(v)
		exports, err := evaluate(script, v)
		require.NoError(t, err)
		assert.Equal(t, i, exports.Get("got").ToInteger())
		assert.EqualValues(t, 1, exports.Get("n").ToInteger(), "module state is not shared")
		detach()
	}
	assert.EqualValues(t, 2, w.reads.Load(), "two sources")
	assert.EqualValues(t, 4, w.instances.Load())
}

func TestStacksOfTypeScriptPointIntoTheSource(t *testing.T) {
	_, _, err := newWorld(map[string]string{
		"main.js": `import './t.ts';`,
		"t.ts":    "interface A {\n  n: number\n}\n\nconst f = (a: A) => {\n  throw new Error('here');\n};\nf({ n: 1 });\n",
	}).load()
	var ex *sobek.Exception
	require.ErrorAs(t, err, &ex)
	assert.Contains(t, ex.String(), "t.ts:6:")
}

func TestReadFileIsCached(t *testing.T) {
	w := newWorld(map[string]string{"data.txt": "hello"})
	for range 3 {
		b, err := w.loader.ReadFile("/data.txt")
		require.NoError(t, err)
		assert.Equal(t, "hello", string(b))
	}
	assert.EqualValues(t, 1, w.reads.Load())
	_, err := w.loader.ReadFile("/gone")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
