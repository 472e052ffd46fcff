// Package k6crypto is the module `k6/crypto`: hashes, HMAC and random bytes.
package k6crypto

import (
	"crypto/hmac"
	"crypto/md5" // what scripts ask for, not what is safe
	"crypto/rand"
	"crypto/sha1" // what scripts ask for, not what is safe
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
)

// algorithms are the names that scripts know hashes by.
const algorithms = "md5, sha1, sha256, sha384, sha512, sha512_224 or sha512_256"

// mostRandomBytes is how many bytes randomBytes gives at most.
const mostRandomBytes = math.MaxInt32

// New makes the module for a virtual user.
func New(vu modules.VU) (modules.Exports, error) {
	m := &module{rt: vu.Runtime()}
	named := map[string]any{
		"createHash":  m.createHash,
		"createHMAC":  m.createHMAC,
		"hmac":        m.hmac,
		"hexEncode":   m.hexEncode,
		"randomBytes": m.randomBytes,
	}
	for _, name := range []string{"md4", "md5", "ripemd160", "sha1", "sha256", "sha384", "sha512", "sha512_224", "sha512_256"} {
		named[name] = m.digest(name)
	}
	return modules.Exports{Named: named}, nil
}

type module struct{ rt *sobek.Runtime }

// must throws what went wrong in a function of the module.
func (m *module) must(function string, err error) {
	if err != nil {
		modules.Throw(m.rt, "%s(): %s", function, err)
	}
}

// digest is the function that hashes its first argument in one go.
func (m *module) digest(name string) func(sobek.FunctionCall) sobek.Value {
	return func(c sobek.FunctionCall) sobek.Value {
		newHash, err := algorithm(name)
		m.must(name, err)
		return m.sum(name, newHash(), c.Argument(0), c.Argument(1))
	}
}

func (m *module) createHash(c sobek.FunctionCall) sobek.Value {
	newHash, err := algorithm(c.Argument(0).String())
	m.must("createHash", err)
	return m.hasher(newHash())
}

func (m *module) createHMAC(c sobek.FunctionCall) sobek.Value {
	return m.hasher(m.keyed("createHMAC", c.Argument(0), c.Argument(1)))
}

func (m *module) hmac(c sobek.FunctionCall) sobek.Value {
	return m.sum("hmac", m.keyed("hmac", c.Argument(0), c.Argument(1)), c.Argument(2), c.Argument(3))
}

// keyed is the HMAC of a hash by name and a secret.
func (m *module) keyed(function string, name, secret sobek.Value) hash.Hash {
	newHash, err := algorithm(name.String())
	m.must(function, err)
	key, err := modules.Bytes(secret)
	if err != nil {
		err = fmt.Errorf("secret: %w", err)
	}
	m.must(function, err)
	return hmac.New(newHash, key)
}

func (m *module) sum(function string, h hash.Hash, data, encoding sobek.Value) sobek.Value {
	m.must(function, update(h, data))
	v, err := m.encode(h.Sum(nil), encoding)
	m.must(function, err)
	return v
}

// hasher is the object that takes data bit by bit.
func (m *module) hasher(h hash.Hash) sobek.Value {
	o := m.rt.NewObject()
	m.must("createHash", o.Set("update", func(c sobek.FunctionCall) sobek.Value {
		m.must("update", update(h, c.Argument(0)))
		return o
	}))
	m.must("createHash", o.Set("digest", func(c sobek.FunctionCall) sobek.Value {
		v, err := m.encode(h.Sum(nil), c.Argument(0))
		m.must("digest", err)
		return v
	}))
	return o
}

func (m *module) hexEncode(c sobek.FunctionCall) sobek.Value {
	b, err := modules.Bytes(c.Argument(0))
	m.must("hexEncode", err)
	return m.rt.ToValue(hex.EncodeToString(b))
}

func (m *module) randomBytes(c sobek.FunctionCall) sobek.Value {
	n := c.Argument(0).ToInteger()
	if n < 1 || n > mostRandomBytes {
		m.must("randomBytes", fmt.Errorf("want a number of bytes from 1 to %d, not %q", mostRandomBytes, modules.Text(c.Argument(0))))
	}
	b := make([]byte, n)
	_, err := rand.Read(b)
	m.must("randomBytes", err)
	return m.rt.ToValue(m.rt.NewArrayBuffer(b))
}

func update(h hash.Hash, data sobek.Value) error {
	b, err := modules.Bytes(data)
	if err == nil {
		_, err = h.Write(b)
	}
	return err
}

func (m *module) encode(sum []byte, encoding sobek.Value) (sobek.Value, error) {
	switch encoding.String() {
	case "hex":
		return m.rt.ToValue(hex.EncodeToString(sum)), nil
	case "base64":
		return m.rt.ToValue(base64.StdEncoding.EncodeToString(sum)), nil
	case "base64url":
		return m.rt.ToValue(base64.URLEncoding.EncodeToString(sum)), nil
	case "base64rawurl":
		return m.rt.ToValue(base64.RawURLEncoding.EncodeToString(sum)), nil
	case "binary":
		return m.rt.ToValue(m.rt.NewArrayBuffer(sum)), nil
	}
	return nil, fmt.Errorf("unknown encoding %q: want hex, base64, base64url, base64rawurl or binary", modules.Text(encoding))
}

// algorithm makes hashes of a name.
func algorithm(name string) (func() hash.Hash, error) {
	switch name {
	case "md5":
		return md5.New, nil
	case "sha1":
		return sha1.New, nil
	case "sha256":
		return sha256.New, nil
	case "sha384":
		return sha512.New384, nil
	case "sha512":
		return sha512.New, nil
	case "sha512_224":
		return sha512.New512_224, nil
	case "sha512_256":
		return sha512.New512_256, nil
	case "md4", "ripemd160":
		return nil, errors.New(name + " is not in the built-in runner; use a k6 build (see README)")
	}
	return nil, fmt.Errorf("unknown algorithm %q: want %s", name, algorithms)
}
