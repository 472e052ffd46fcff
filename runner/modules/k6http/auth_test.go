package k6http_test

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// guarded answers who asks, having challenged with a header.
func guarded(t *testing.T, challenge string) (base, withUser string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if name, password, ok := r.BasicAuth(); ok {
			_, _ = fmt.Fprintf(w, "basic %s:%s", name, password)
			return
		}
		if !digestHolds(r, "user", "secret") {
			w.Header().Add("WWW-Authenticate", `Other realm="x"`)
			w.Header().Add("WWW-Authenticate", challenge)
			http.Error(w, "who is there?", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, "digest %s %s", r.Method, body)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	u.User = url.UserPassword("user", "secret")
	return s.URL, u.String()
}

// digestHolds checks a request's digest, by the formulas of RFC 7616.
func digestHolds(r *http.Request, name, password string) bool {
	f := make(map[string]string)
	for _, m := range regexp.MustCompile(`(\w+)=(?:"([^"]*)"|([^,\s]+))`).FindAllStringSubmatch(r.Header.Get("Authorization"), -1) {
		f[m[1]] = m[2] + m[3]
	}
	sum := func(s string) string {
		if strings.HasPrefix(f["algorithm"], "SHA-256") {
			h := sha256.Sum256([]byte(s))
			return hex.EncodeToString(h[:])
		}
		h := md5.Sum([]byte(s))
		return hex.EncodeToString(h[:])
	}
	a1 := sum(name + ":" + f["realm"] + ":" + password)
	if strings.HasSuffix(f["algorithm"], "-sess") {
		a1 = sum(a1 + ":" + f["nonce"] + ":" + f["cnonce"])
	}
	a2 := sum(r.Method + ":" + r.URL.RequestURI())
	want := sum(a1 + ":" + f["nonce"] + ":" + a2)
	if f["qop"] != "" {
		want = sum(strings.Join([]string{a1, f["nonce"], f["nc"], f["cnonce"], f["qop"], a2}, ":"))
	}
	return f["response"] == want && f["username"] == name && f["uri"] == r.URL.RequestURI()
}

func TestBasicAuth(t *testing.T) {
	_, u := guarded(t, "")
	assert.Equal(t, []any{"basic user:secret", "basic user:secret"}, shown(t, u, "show([http.get(U + '/a').body, http.get(U + '/a', {auth: 'basic'}).body])"))
}

func TestDigestAuth(t *testing.T) {
	for _, challenge := range []string{
		`Digest realm="r, 1", nonce="n0", qop="auth-int, auth", opaque="o", algorithm=MD5`,
		`Digest realm="r", nonce="n0"`,
		`digest realm="r",nonce="n0",qop=auth,algorithm=SHA-256`,
		`Digest realm="r", nonce="n0", qop="auth", algorithm=MD5-sess`,
	} {
		_, u := guarded(t, challenge)
		out := script(t, u, "const r = http.post(U + '/a?b=c', 'body', {auth: 'digest'}); show([r.status, r.body, r.error_code, r.request.url.includes('secret')])")
		assert.Equal(t, []string{`[200,"digest POST body",0,false]`}, out.Console, challenge)
		assert.Equal(t, 2.0, metric(t, out, "http_reqs", "count"), "the challenge is a request too")
		assert.Equal(t, 0.0, metric(t, out, "http_req_failed", "rate"), "and an expected one")
	}
	base, u := guarded(t, `Digest realm="r", nonce="n0", qop="auth"`)
	wrong := strings.Replace(u, "secret", "guess", 1)
	out := script(t, wrong, "show(http.get(U, {auth: 'digest'}).status)")
	assert.Equal(t, []string{"401"}, out.Console)
	assert.Equal(t, 0.5, metric(t, out, "http_req_failed", "rate"))
	assert.Equal(t, 401.0, shown(t, base, "show(http.get(U).status)"))
	for challenge, want := range map[string]string{
		`Digest realm="r", nonce="n", algorithm=ROT13`: `the algorithm "ROT13" is none of MD5, SHA-256`,
		`Digest realm="r", nonce="n", qop="auth-int"`:  `the protection "auth-int" does not offer "auth"`,
	} {
		_, u := guarded(t, challenge)
		assert.Contains(t, shown(t, u, "show(http.get(U, {auth: 'digest'}).error)"), want)
	}
	_, u = guarded(t, `Basic realm="r"`)
	assert.Equal(t, 401.0, shown(t, u, "show(http.get(U, {auth: 'digest'}).status)"), "there is nothing to answer")
}
