package k6encoding_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/internal/scripttest"
)

func TestEncoding(t *testing.T) {
	for expression, want := range map[string]string{
		`b64encode('hello?>')`:           "aGVsbG8/Pg==",
		`b64encode('hello?>', 'std')`:    "aGVsbG8/Pg==",
		`b64encode('hello?>', 'rawstd')`: "aGVsbG8/Pg",
		`b64encode('hello?>', 'url')`:    "aGVsbG8_Pg==",
		`b64encode('hello?>', 'rawurl')`: "aGVsbG8_Pg",
		`b64encode('hello?>', 'other')`:  "aGVsbG8/Pg==",
		`b64encode('こんにちは')`:             "44GT44KT44Gr44Gh44Gv",
		`b64encode('')`:                  "",

		`b64encode(new Uint8Array([1, 2, 3]))`:        "AQID",
		`b64encode(new Uint8Array([1, 2, 3]).buffer)`: "AQID",

		`b64decode('aGVsbG8/Pg==', 'std', 's')`:                       "hello?>",
		`b64decode('aGVsbG8/Pg', 'rawstd', 's')`:                      "hello?>",
		`b64decode('aGVsbG8_Pg==', 'url', 's')`:                       "hello?>",
		`b64decode('aGVsbG8_Pg', 'rawurl', 's')`:                      "hello?>",
		`b64decode('44GT44KT44Gr44Gh44Gv', undefined, 's')`:           "こんにちは",
		`b64decode('AQID') instanceof ArrayBuffer`:                    "true",
		`new Uint8Array(b64decode('AQID', 'std')).join()`:             "1,2,3",
		`new Uint8Array(b64decode(b64encode('\u0000ÿ'), '')).join()`:  "0,195,191",
		`new Uint8Array(b64decode('AQID', 'std', 'anything')).length`: "3",

		`b64encode(1)`:                 `Error: b64encode(): want text, an ArrayBuffer or a Uint8Array, not "1"`,
		`b64encode()`:                  `Error: b64encode(): want text, an ArrayBuffer or a Uint8Array, not "undefined"`,
		`b64encode({})`:                `Error: b64encode(): want text, an ArrayBuffer or a Uint8Array, not "[object Object]"`,
		`b64decode('!')`:               `Error: b64decode("!"): illegal base64 data at input byte 0`,
		`b64decode('aGVsbG8_Pg==')`:    `Error: b64decode("aGVsbG8_Pg=="): illegal base64 data at input byte 7`,
		`b64decode('aGVsbG8', 'std')`:  `Error: b64decode("aGVsbG8"): illegal base64 data at input byte 4`,
		`b64decode('YQ==', 'rawstd')`:  `Error: b64decode("YQ=="): illegal base64 data at input byte 2`,
		`b64decode({}).byteLength`:     `Error: b64decode("[object Object]"): illegal base64 data at input byte 0`,
		`b64decode('x'.repeat(200)+1)`: `Error: b64decode("` + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" + `…"): illegal base64 data at input byte 200`,
	} {
		t.Run(expression, func(t *testing.T) {
			out := scripttest.Run(t, `import { b64encode, b64decode } from 'k6/encoding'; import encoding from 'k6/encoding';
				export default function () {
					let got; try { got = String(`+expression+`); } catch (e) { got = String(e); }
					console.log(got, encoding.b64encode === b64encode);
				}`)
			require.NoError(t, out.Err)
			assert.Equal(t, []string{want + " true"}, out.Console)
		})
	}
}
