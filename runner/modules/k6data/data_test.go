package k6data_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/internal/scripttest"
)

func TestSharedArray(t *testing.T) {
	for expression, want := range map[string]string{
		`list.length`:          "3",
		`list[0].name`:         "a",
		`list[3]`:              "undefined",
		`list[-1]`:             "undefined",
		`Array.isArray(list)`:  "true",
		`JSON.stringify(list)`: `[{"name":"a","tags":["x",{"y":1}]},{"name":"b"},null]`,
		`[...list].length`:     "3",
		`(() => { let n = ''; for (const e of list) { n += e && e.name; } return n; })()`: "abnull",
		`(() => { let n = ''; list.forEach((e, i) => { n += i; }); return n; })()`:        "012",
		`list.map((e) => e && e.name).join()`:                                             "a,b,",
		`list.filter((e) => e).length`:                                                    "2",
		`list.find((e) => e.name === 'b').name`:                                           "b",
		`list.slice(1, 2)[0].name`:                                                        "b",
		`Object.keys(list).join()`:                                                        "0,1,2",
		`1 in list`:                                                                       "true",
		`list[0] === list[0]`:                                                             "false",
		`Object.isFrozen(list[0]) && Object.isFrozen(list[0].tags) && Object.isFrozen(list[0].tags[1])`: "true",
		`texts.join('')`: "héllo1",
		`nothing.length`: "0",
		`functions[0]`:   "null",

		`list[0].name = 'c'`:             "TypeError: Cannot assign to read only property 'name'",
		`list[0].tags.push(1)`:           "TypeError: Cannot",
		`list[0] = 1`:                    "TypeError: a SharedArray cannot be changed",
		`list.push(1)`:                   "TypeError: a SharedArray cannot be changed",
		`list.length = 0`:                "TypeError: a SharedArray cannot be changed",
		`list.sort()`:                    "TypeError: a SharedArray cannot be changed",
		`new SharedArray('x', () => [])`: "Error: new SharedArray() works in the init context only (the script's top level)",
	} {
		t.Run(expression, func(t *testing.T) {
			out := scripttest.Run(t, `import { SharedArray } from 'k6/data';
				const list = new SharedArray('list', () => [{name: 'a', tags: ['x', {y: 1}]}, {name: 'b'}, null]);
				const texts = new SharedArray('texts', () => ['h', 'é', 'llo', 1]);
				const nothing = new SharedArray('nothing', function () { return []; });
				const functions = new SharedArray('functions', () => [() => 1]);
				export default function () {
					let got; try { got = String(`+expression+`); } catch (e) { got = String(e); }
					console.log(got);
				}`)
			require.NoError(t, out.Err)
			require.Len(t, out.Console, 1)
			if len(want) > 6 && (want[:5] == "TypeE") {
				assert.Contains(t, out.Console[0], want)
			} else {
				assert.Equal(t, want, out.Console[0])
			}
		})
	}
}

func TestSharedArrayIsMadeOnceForAllVUs(t *testing.T) {
	out := scripttest.Run(t, `import data, { SharedArray } from 'k6/data';
		export const options = {vus: 10, iterations: 100};
		const one = new SharedArray('one', () => { console.log('made one'); return [Math.random()]; });
		const same = new data.SharedArray('one', () => { console.log('made again'); return []; });
		const inner = new SharedArray('outer', () => new SharedArray('inner', () => { console.log('made inner'); return [7]; }).map((n) => n + 1));
		const own = new SharedArray('of VU ' + (__VU % 3), () => { console.log('made of', __VU % 3); return [__VU % 3]; });
		export function setup() { return one[0]; }
		export default function (number) {
			if (one[0] !== number || same[0] !== number || inner[0] !== 8 || own[0] !== __VU % 3) { throw new Error('not the same'); }
		}`)
	require.NoError(t, out.Err)
	assert.Zero(t, out.Result.Threw)
	assert.ElementsMatch(t, []string{"made one", "made inner", "made of 0", "made of 1", "made of 2"}, out.Console)
}

func TestSharedArrayRefuses(t *testing.T) {
	for expression, want := range map[string]string{
		`new SharedArray()`:                                                  `Error: new SharedArray() needs a name as its first argument`,
		`new SharedArray('', () => [])`:                                      `Error: new SharedArray() needs a name as its first argument`,
		`new SharedArray('x')`:                                               `Error: new SharedArray("x") needs a function as its second argument, not "undefined"`,
		`new SharedArray('x', [1])`:                                          `Error: new SharedArray("x") needs a function as its second argument, not "1"`,
		`new SharedArray('x', async () => [])`:                               `Error: new SharedArray("x") does not take an async function`,
		`new SharedArray('x', () => ({a: 1}))`:                               `Error: new SharedArray("x"): its function must return an array, not [object Object]`,
		`new SharedArray('x', () => 'text')`:                                 `Error: new SharedArray("x"): its function must return an array, not text`,
		`new SharedArray('x', () => undefined)`:                              `Error: new SharedArray("x"): its function must return an array, not undefined`,
		`new SharedArray('x', () => { throw new Error('boom'); })`:           `Error: boom`,
		`new SharedArray('x', () => { const a = {}; a.a = a; return [a]; })`: `TypeError: Converting circular structure to JSON`,
		`new SharedArray('x', () => new SharedArray('x', () => []))`:         `Error: new SharedArray("x"): its function needs this very array`,
	} {
		t.Run(expression, func(t *testing.T) {
			out := scripttest.Run(t, `import { SharedArray } from 'k6/data';
				let got; try { `+expression+`; } catch (e) { got = String(e); }
				export default function () { console.log(got); }`)
			require.NoError(t, out.Err)
			require.Len(t, out.Console, 1)
			assert.Contains(t, out.Console[0], want)
		})
	}
}

func TestASharedArrayThatFailedCanBeMadeAgain(t *testing.T) {
	out := scripttest.Run(t, `import { SharedArray } from 'k6/data';
		let list; try { list = new SharedArray('x', () => { throw 1; }); } catch { list = new SharedArray('x', () => [1, 2]); }
		export default function () { console.log(list.length); }`)
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"2"}, out.Console)
}

func TestSharedArrayOfAFile(t *testing.T) {
	out := scripttest.Run(t, `import { SharedArray } from 'k6/data';
		export const options = {vus: 3, iterations: 3};
		const users = new SharedArray('users', () => JSON.parse(open('./users.json')).users);
		export default function () { console.log(users.length, users[1].name); }`,
		scripttest.WithFiles(map[string]string{"users.json": `{"users": [{"name": "a"}, {"name": "b"}]}`}))
	require.NoError(t, out.Err)
	assert.Equal(t, []string{"2 b", "2 b", "2 b"}, out.Console)
}
