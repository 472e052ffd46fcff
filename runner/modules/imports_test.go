package modules_test

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/modules"
)

func TestESModules(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"default and named":   {"main.js": `import d, { a } from './l.js'; export const got = d + a;`, "l.js": `export default 40; export const a = 2;`},
		"renamed":             {"main.js": `import { a as b } from './l.js'; export const got = b;`, "l.js": `const x = 42; export { x as a };`},
		"default as named":    {"main.js": `import { default as d } from './l.js'; export const got = d;`, "l.js": `export default 42;`},
		"namespace of a file": {"main.js": `import * as l from './l.js'; export const got = l.a + l.default;`, "l.js": `export const a = 2; export default 40;`},
		"star of stars":       {"main.js": `import { a, b } from './l.js'; export const got = a + b;`, "l.js": `export * from './m.js'; export const a = 40;`, "m.js": `export const a = 1; export const b = 2;`},
		"star as":             {"main.js": `import { m } from './l.js'; export const got = m.b;`, "l.js": `export * as m from './m.js';`, "m.js": `export const b = 42;`},
		"re-export default":   {"main.js": `import { m } from './l.js'; export const got = m;`, "l.js": `export { default as m } from './m.js';`, "m.js": `export default 42;`},
		"side effects":        {"main.js": `import './l.js'; export const got = globalThis.left;`, "l.js": `globalThis.left = 42;`},
		"live binding":        {"main.js": `import { n, up } from './l.js'; up(); export const got = n;`, "l.js": `export let n = 41; export const up = () => { n++; };`},
		"once":                {"main.js": `import { n } from './a.js'; import { n as m } from './b.js'; export const got = n === m ? n : 0;`, "a.js": `export { n } from './c.js';`, "b.js": `export { n } from '././c.js';`, "c.js": `globalThis.c = (globalThis.c ?? 41) + 1; export const n = globalThis.c;`},
		"cycle of three":      {"main.js": `import { a } from './a.js'; export const got = a();`, "a.js": `import { b } from './b.js'; export const a = () => b(); export const n = 42;`, "b.js": `import { c } from './c.js'; export const b = () => c();`, "c.js": `import { n } from './a.js'; export const c = () => n;`},
		"cycle through self":  {"main.js": `import * as self from './main.js'; export const a = 42; export const got = self.a;`},
		"await in a library":  {"main.js": `import { a } from './l.js'; export const got = a;`, "l.js": `export const a = await Promise.resolve(42);`},
		"percent in a path":   {"main.js": `import { a } from './a%20b.js'; export const got = a;`, "a b.js": `export const a = 42;`},
		"above the root":      {"main.js": `import { a } from '../../a.js'; export const got = a;`, "a.js": `export const a = 42;`},
		"import.meta.resolve": {"main.js": `import { at } from './lib/l.js'; export const got = at === 'file:///lib/x.json' ? 42 : at;`, "lib/l.js": `export const at = import.meta.resolve('./x.json');`},
		"enums and generics": {"main.js": `import { got } from './t.ts'; export { got };`, "t.ts": `
			type Pair<A, B = A> = readonly [A, B];
			enum Level { Low = 1, High = 41 }
			const enum Inline { One = 1 }
			abstract class Base<T> { constructor(protected readonly n: T) {} abstract get(): T; }
			class Own extends Base<number> implements Iface { get(): number { return this.n as number; } }
			interface Iface { get(): number }
			declare const nowhere: string;
			namespace Space { export const one = Inline.One; }
			function first<T, U>([a]: Pair<T, U>): T { return a!; }
			export const got = first<number, string>([new Own(Level.High).get() + Space.one, 'x'] satisfies Pair<number, string>);`},
		"types from typescript":          {"main.ts": ``, "main.js": `import { got } from './a.ts'; export { got };`, "a.ts": `import type { T } from './t.ts'; import { type T as U, n } from './t.ts'; export const got: T | U = n;`, "t.ts": `export type T = number; export const n: T = 42;`},
		"dynamic import":                 {"main.js": `const { a } = await import('./l.js'); export const got = a;`, "l.js": `export const a = 42;`},
		"dynamic import of Go":           {"main.js": `const { twice } = await import('k6/fake'); export const got = twice(21);`},
		"dynamic import of Go's default": {"main.js": `const f = await import('k6/fake'); export const got = f.default.twice(21);`},
		"dynamic import fails":           {"main.js": `let got = 0; try { await import('./gone.js'); } catch (e) { got = e instanceof Error && /gone.js: no such file/.test(e.message) ? 42 : e; } export { got };`},
		"dynamic import that throws":     {"main.js": `let got = 0; try { await import('./l.js'); } catch (e) { got = e; } export { got };`, "l.js": `export const x = 1; throw 42;`},
	} {
		t.Run(name, func(t *testing.T) {
			_, exports, err := newWorld(files).load()
			require.NoError(t, err)
			assert.Equal(t, "42", exports.Get("got").String())
		})
	}
}

func TestCommonJS(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"default":            {"main.js": `import l from './l.js'; export const got = l.a;`, "l.js": `module.exports = { a: 42 };`},
		"default of its own": {"main.js": `import l from './l.js'; export const got = l;`, "l.js": `exports.default = 42;`},
		"named":              {"main.js": `import { a } from './l.js'; export const got = a;`, "l.js": `exports.a = 42;`},
		"namespace":          {"main.js": `import * as l from './l.js'; export const got = l.a + l.default.b;`, "l.js": `exports.a = 40; exports.b = 2;`},
		"named through star": {"main.js": `import { a } from './s.js'; export const got = a;`, "s.js": `export * from './l.js';`, "l.js": `exports.a = 42;`},
		"star":               {"main.js": `import * as s from './s.js'; export const got = Object.keys(s).length + 42;`, "s.js": `export * from './l.js';`, "l.js": `exports.a = 1;`},
		"function":           {"main.js": `import l from './l.js'; export const got = l();`, "l.js": `module.exports = () => 42;`},
		"missing name":       {"main.js": `import { b } from './l.js'; export const got = b === undefined ? 42 : b;`, "l.js": `exports.a = 1;`},
		"no exports":         {"main.js": `import l from './l.js'; export const got = Object.keys(l).length + 42;`, "l.js": `const a = 1;`},
		"strict with this":   {"main.js": `import l from './l.js'; export const got = l.a;`, "l.js": `this.a = 42;`},
		"typescript":         {"main.js": `import l from './l.ts'; export const got = l.a;`, "l.ts": "interface A { a: number }\nmodule.exports = { a: 42 } as A;"},
		"comment at the end": {"main.js": `import l from './l.js'; export const got = l.a;`, "l.js": `exports.a = 42; // the end`},
		"universal":          {"main.js": `import l from './l.js'; export const got = l.a;`, "l.js": `(function (root, make) { if (typeof module === 'object' && module.exports) { module.exports = make(); } else { root.l = make(); } })(this, () => ({ a: 42 }));`},
	} {
		t.Run(name, func(t *testing.T) {
			_, exports, err := newWorld(files).load()
			require.NoError(t, err)
			assert.Equal(t, "42", exports.Get("got").String())
		})
	}
	_, exports, err := newWorld(map[string]string{"main.js": `exports.got = 42;`}).load()
	require.NoError(t, err)
	assert.EqualValues(t, 42, exports.Get("got").ToInteger(), "the script itself")

	for name, want := range map[string]string{
		`module.exports = null;`:           "/l.js: module.exports is null, want an object or a function",
		`throw new Error('in it');`:        "in it",
		"const a = 1;\n}); (function () {": "/l.js",
		"\n\nconst ;":                      "/l.js:3",
	} {
		_, _, err := newWorld(map[string]string{"main.js": `import l from './l.js'; export const got = l;`, "l.js": name}).load()
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), want)
	}
}

func TestWhatWasNotAskedForAtFirstCannotBeHadLater(t *testing.T) {
	w := newWorld(map[string]string{"main.js": `export const a = 1;`, "l.js": `export const b = 2;`, "data.txt": "hello"})
	v := newVU()
	defer w.loader.Attach(v)()
	_, err := w.loader.Load("/main.js", v)
	require.NoError(t, err)
	_, err = w.loader.Require(v.rt, "/main.js", "k6/own")
	require.NoError(t, err)
	w.loader.Lock()
	reads := w.reads.Load()
	for _, name := range []string{"./l.js", "k6/fake", "./gone.js"} {
		_, err = w.loader.Require(v.rt, "/main.js", name)
		require.ErrorContains(t, err, "the first run of the init code (__VU is 0) did not ask for it", name)
	}
	_, err = w.loader.Require(v.rt, "/main.js", "k6/own")
	require.NoError(t, err, "it was asked for")
	_, err = w.loader.ReadFile("/data.txt")
	require.ErrorContains(t, err, "did not ask for it")
	assert.Equal(t, reads, w.reads.Load())
}

func TestRequireReportsFailures(t *testing.T) {
	w := newWorld(map[string]string{"main.js": `export const a = 1;`, "throws.js": `export const a = 1; throw new Error('boom');`, "misses.js": `import { jar } from 'k6/fake'; export const a = jar;`})
	v := newVU()
	defer w.loader.Attach(v)()
	_, err := w.loader.Load("/main.js", v)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"./throws.js": "boom",
		"./misses.js": "jar of k6/fake is not in the built-in runner",
		"./gone.js":   "/gone.js: no such file",
		"k6/broken":   "import k6/broken: no such luck",
		"k6/browser":  "k6/browser is not in the built-in runner",
	} {
		_, err := w.loader.Require(v.rt, "/main.js", name)
		require.ErrorContains(t, err, want, name)
	}
}

// FuzzImport asks for modules by any name from any file: nothing panics, and
// what is read are clean absolute paths alone.
func FuzzImport(f *testing.F) {
	for _, seed := range []string{
		"./a.js", "../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "file://../../etc/passwd", "file://host/x", ".//..//a.js", "./%2e%2e/%2e%2e/a.js",
		"%2e%2e/a.js", "./a.js?b=../../c", "./a\x00b", "k6", "k6/", "k6/fake", "k6/x/../../../a", "https://jslib.k6.io/k6-utils/1.4.0/index.js",
		"https://jslib.k6.io/../../a", "https://jslib.k6.io/", "https://jslib.k6.io/..%2f..%2fa/1/index.js", "C:\\a.js", "./C:/a.js", "..\\a.js", "", ".", "..", "/", "./",
	} {
		f.Add("/dir/main.js", seed)
		f.Add("", seed)
	}
	log, _ := test.NewNullLogger()
	f.Fuzz(func(t *testing.T, from, specifier string) {
		root := fstest.MapFS{"dir/main.js": {Data: []byte("export const a = 1;")}, "a.js": {Data: []byte("export const b = 2;")}}
		loader := modules.NewLoader(func(p string) ([]byte, error) {
			if !strings.HasPrefix(p, "/") || path.Clean(p) != p || strings.Contains(p, "/../") {
				t.Errorf("read of %q", p)
			}
			return fs.ReadFile(root, strings.TrimPrefix(p, "/"))
		}, map[string]modules.Factory{"k6/fake": func(modules.VU) (modules.Exports, error) { return modules.Exports{}, nil }}, log)
		v := newVU()
		defer loader.Attach(v)()
		if _, err := loader.Load("/dir/main.js", v); err != nil {
			t.Fatal(err)
		}
		_, err := loader.Require(v.Runtime(), from, specifier)
		var thrown *sobek.Exception
		if err == nil || errors.As(err, &thrown) {
			return
		}
		if strings.TrimSpace(err.Error()) == "" {
			t.Errorf("no reason for %q in %q", specifier, from)
		}
	})
}
