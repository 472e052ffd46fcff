package k6crypto_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/internal/scripttest"
)

func TestCrypto(t *testing.T) {
	for expression, want := range map[string]string{
		`md5('hello world', 'hex')`:        "5eb63bbbe01eeed093cb22bb8f5acdc3",
		`sha1('hello world', 'hex')`:       "2aae6c35c94fcfb415dbe95f408b9ce91ee846ed",
		`sha256('hello world', 'hex')`:     "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
		`sha384('hello world', 'hex')`:     "fdbd8e75a67f29f701a4e040385e2e23986303ea10239211af907fcbb83578b3e417cb71ce646efd0819dd8c088de1bd",
		`sha512('hello world', 'hex')`:     "309ecc489c12d6eb4cc40f50c902f2b4d0ed77ee511a7c7a9bcd3ca86d4cd86f989dd35bc5ff499670da34255b45b0cfd830e81f605dcf7dc5542e93ae9cd76f",
		`sha512_224('hello world', 'hex')`: "22e0d52336f64a998085078b05a6e37b26f8120f43bf4db4c43a64ee",
		`sha512_256('hello world', 'hex')`: "0ac561fac838104e3f2e4ad107b4bee3e938bf15f2b15f009ccccd61a913f017",

		`md5('hello world', 'base64')`:                              "XrY7u+Ae7tCTyyK7j1rNww==",
		`md5('hello world', 'base64url')`:                           "XrY7u-Ae7tCTyyK7j1rNww==",
		`md5('hello world', 'base64rawurl')`:                        "XrY7u-Ae7tCTyyK7j1rNww",
		`hexEncode(md5('hello world', 'binary'))`:                   "5eb63bbbe01eeed093cb22bb8f5acdc3",
		`md5('hello world', 'binary') instanceof ArrayBuffer`:       "true",
		`md5(new Uint8Array([104, 105]), 'hex')`:                    "49f68a5c8493ec2c0bf489821c21fc3b",
		`md5(new Uint8Array([104, 105]).buffer, 'hex')`:             "49f68a5c8493ec2c0bf489821c21fc3b",
		`md5('hi', 'hex') === md5('h' + 'i', 'hex')`:                "true",
		`md5('', 'hex')`:                                            "d41d8cd98f00b204e9800998ecf8427e",
		`hmac('sha256', 'a secret', 'some data', 'hex').length`:     "64",
		`hexEncode('hello')`:                                        "68656c6c6f",
		`hexEncode(new Uint8Array([0, 255]).buffer)`:                "00ff",
		`randomBytes(7).byteLength`:                                 "7",
		`hexEncode(randomBytes(16)) === hexEncode(randomBytes(16))`: "false",

		`hmac('sha256', 'key', 'The quick brown fox jumps over the lazy dog', 'hex')`: "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
		`hmac('md5', 'key', 'The quick brown fox jumps over the lazy dog', 'hex')`:    "80070713463e7749b90c2dc24911e275",

		`(() => { const h = createHash('md5'); h.update('hello '); h.update('world'); return h.digest('hex') + h.digest('base64'); })()`:      "5eb63bbbe01eeed093cb22bb8f5acdc3XrY7u+Ae7tCTyyK7j1rNww==",
		`createHash('md5').update('hello ').update('world').digest('hex')`:                                                                    "5eb63bbbe01eeed093cb22bb8f5acdc3",
		`(() => { const h = createHMAC('sha1', 'key'); h.update('The quick brown fox jumps over the lazy dog'); return h.digest('hex'); })()`: "de7c9b85b8b78aa6bc8a7a36f70a90701c9db4d9",

		`md4('x', 'hex')`:                `Error: md4(): md4 is not in the built-in runner; use a k6 build (see README)`,
		`ripemd160('x', 'hex')`:          `Error: ripemd160(): ripemd160 is not in the built-in runner; use a k6 build (see README)`,
		`createHash('md4')`:              `Error: createHash(): md4 is not in the built-in runner; use a k6 build (see README)`,
		`createHash('sha3')`:             `Error: createHash(): unknown algorithm "sha3": want md5, sha1, sha256, sha384, sha512, sha512_224 or sha512_256`,
		`createHash()`:                   `Error: createHash(): unknown algorithm "undefined": want md5, sha1, sha256, sha384, sha512, sha512_224 or sha512_256`,
		`hmac('sha3', 'k', 'd', 'hex')`:  `Error: hmac(): unknown algorithm "sha3": want md5, sha1, sha256, sha384, sha512, sha512_224 or sha512_256`,
		`hmac('md5', 1, 'd', 'hex')`:     `Error: hmac(): secret: want text, an ArrayBuffer or a Uint8Array, not "1"`,
		`createHMAC('md5')`:              `Error: createHMAC(): secret: want text, an ArrayBuffer or a Uint8Array, not "undefined"`,
		`md5({}, 'hex')`:                 `Error: md5(): want text, an ArrayBuffer or a Uint8Array, not "[object Object]"`,
		`md5([1, 2], 'hex')`:             `Error: md5(): want text, an ArrayBuffer or a Uint8Array, not "1,2"`,
		`md5('x', 'HEX')`:                `Error: md5(): unknown encoding "HEX": want hex, base64, base64url, base64rawurl or binary`,
		`md5('x')`:                       `Error: md5(): unknown encoding "undefined": want hex, base64, base64url, base64rawurl or binary`,
		`createHash('md5').update(null)`: `Error: update(): want text, an ArrayBuffer or a Uint8Array, not "null"`,
		`createHash('md5').digest('x')`:  `Error: digest(): unknown encoding "x": want hex, base64, base64url, base64rawurl or binary`,
		`hexEncode(new Int8Array(1))`:    `Error: hexEncode(): want text, an ArrayBuffer or a Uint8Array, not "0"`,
		`randomBytes(0)`:                 `Error: randomBytes(): want a number of bytes from 1 to 2147483647, not "0"`,
		`randomBytes('many')`:            `Error: randomBytes(): want a number of bytes from 1 to 2147483647, not "many"`,
	} {
		t.Run(expression, func(t *testing.T) {
			out := scripttest.Run(t, `import * as crypto from 'k6/crypto'; import c from 'k6/crypto';
				const { md4, md5, sha1, sha256, sha384, sha512, sha512_224, sha512_256, ripemd160, hmac, createHash, createHMAC, hexEncode, randomBytes } = crypto;
				export default function () {
					let got; try { got = String(`+expression+`); } catch (e) { got = String(e); }
					console.log(got, c.md5 === md5);
				}`)
			require.NoError(t, out.Err)
			assert.Equal(t, []string{want + " true"}, out.Console)
		})
	}
}
