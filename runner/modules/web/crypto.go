package web

import (
	"crypto/rand"
	"crypto/sha1" // what scripts ask for, not what is safe
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"strings"
	"unsafe"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// mostRandomValues is how many bytes getRandomValues fills at most.
const mostRandomValues = 65536

func newCrypto(vu modules.VU) (*sobek.Object, error) {
	rt := vu.Runtime()
	subtle := rt.NewObject()
	crypto := rt.NewObject()
	set := func(o *sobek.Object, name string, v any) error {
		return o.DefineDataProperty(name, rt.ToValue(v), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
	}
	for _, name := range []string{
		"decrypt", "deriveBits", "deriveKey", "encrypt", "exportKey", "generateKey", "importKey", "sign", "unwrapKey", "verify", "wrapKey",
	} {
		if err := set(subtle, name, func(sobek.FunctionCall) sobek.Value {
			modules.Throw(rt, "crypto.subtle.%s is not in the built-in runner; use a k6 build (see README)", name)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	for name, v := range map[string]any{
		"getRandomValues": func(c sobek.FunctionCall) sobek.Value { return getRandomValues(rt, c.Argument(0)) },
		"randomUUID":      func(sobek.FunctionCall) sobek.Value { return rt.ToValue(randomUUID()) },
		"subtle":          subtle,
	} {
		if err := set(crypto, name, v); err != nil {
			return nil, err
		}
	}
	return crypto, set(subtle, "digest", func(c sobek.FunctionCall) sobek.Value { return digest(rt, c) })
}

// getRandomValues fills an array of whole numbers.
func getRandomValues(rt *sobek.Runtime, v sobek.Value) sobek.Value {
	var b []byte
	switch list := v.Export().(type) {
	case []uint8:
		b = list
	case []int8:
		b = memory(list)
	case []uint16:
		b = memory(list)
	case []int16:
		b = memory(list)
	case []uint32:
		b = memory(list)
	case []int32:
		b = memory(list)
	case []uint64:
		b = memory(list)
	case []int64:
		b = memory(list)
	default:
		panic(newNamedError(rt, "TypeMismatchError", fmt.Sprintf("getRandomValues(): want a typed array of whole numbers, not %q", modules.Text(v))))
	}
	if len(b) > mostRandomValues {
		panic(newNamedError(rt, "QuotaExceededError", fmt.Sprintf("getRandomValues(): %d bytes are more than the %d it fills", len(b), mostRandomValues)))
	}
	if _, err := rand.Read(b); err != nil {
		modules.Throw(rt, "getRandomValues(): %s", err)
	}
	return v
}

// memory is a typed array's own memory, as bytes.
func memory[T any](list []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(one)))
}

func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// digest is crypto.subtle.digest: a promise of a hash.
func digest(rt *sobek.Runtime, c sobek.FunctionCall) sobek.Value {
	p, resolve, reject := rt.NewPromise()
	name := c.Argument(0)
	if o, ok := name.(*sobek.Object); ok {
		name = o.Get("name")
	}
	b, err := modules.Bytes(c.Argument(1))
	if _, isText := c.Argument(1).Export().(string); isText || err != nil {
		_ = reject(rt.NewTypeError("crypto.subtle.digest(): want an ArrayBuffer or a Uint8Array, not " + modules.Text(c.Argument(1))))
		return rt.ToValue(p)
	}
	var sum []byte
	switch strings.ToUpper(modules.Text(name)) {
	case "SHA-1":
		s := sha1.Sum(b)
		sum = s[:]
	case "SHA-256":
		s := sha256.Sum256(b)
		sum = s[:]
	case "SHA-384":
		s := sha512.Sum384(b)
		sum = s[:]
	case "SHA-512":
		s := sha512.Sum512(b)
		sum = s[:]
	default:
		_ = reject(newNamedError(rt, "NotSupportedError", fmt.Sprintf("crypto.subtle.digest(): unknown algorithm %q: want SHA-1, SHA-256, SHA-384 or SHA-512", modules.Text(name))))
		return rt.ToValue(p)
	}
	_ = resolve(rt.NewArrayBuffer(sum))
	return rt.ToValue(p)
}
