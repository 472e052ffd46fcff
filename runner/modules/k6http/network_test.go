package k6http_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func port(t *testing.T, base string) string {
	t.Helper()
	u, err := url.Parse(base)
	require.NoError(t, err)
	return u.Port()
}

func TestHosts(t *testing.T) {
	p := port(t, server(t))
	for _, c := range []struct{ hosts, url string }{
		{`{"a.test": "127.0.0.1"}`, "http://A.test:" + p},
		{`{"a.test": "127.0.0.1:` + p + `"}`, "http://a.test"},
		{`{"a.test:81": "127.0.0.1:` + p + `", "a.test": "127.0.0.1:1"}`, "http://a.test:81"},
		{`{"*.test": "127.0.0.1:1", "*.a.test": "127.0.0.1:` + p + `"}`, "http://x.y.a.test"},
		{`{"*a.test": "127.0.0.1:` + p + `", "b.a.test": "127.0.0.1:1"}`, "http://a.test"},
	} {
		assert.Equal(t, []any{200.0, "127.0.0.1"}, shown(t, c.url, "const r = http.get(U + '/echo'); show([r.status, r.remote_ip])",
			withOptions(`{"hosts": `+c.hosts+`}`)), c.hosts)
	}
}

func TestBlockedHostsAndAddresses(t *testing.T) {
	p := port(t, server(t))
	const body = "const r = http.get(U + '/echo'); show([r.status, r.error_code, r.error])"
	for _, c := range []struct {
		options, url string
		want         []any
	}{
		{`"blockHostnames": ["*.a.test", "b.test"]`, "http://x.A.test", []any{0.0, 1111.0, "hostname is blocked"}},
		{`"blockHostnames": ["*.a.test", "b.test"]`, "http://b.test", []any{0.0, 1111.0, "hostname is blocked"}},
		{`"blockHostnames": ["*"]`, "http://127.0.0.1:" + p, []any{200.0, 0.0, ""}},
		{`"blockHostnames": ["a.test"], "hosts": {"c.test": "127.0.0.1:` + p + `"}`, "http://c.test", []any{200.0, 0.0, ""}},
		{`"blacklistIPs": ["10.0.0.0/8", "127.0.0.0/24"]`, "http://127.0.0.1:" + p, []any{0.0, 1110.0, "ip is blacklisted"}},
		{`"blacklistIPs": ["127.0.0.0/24"], "hosts": {"c.test": "127.0.0.1:` + p + `"}`, "http://c.test", []any{0.0, 1110.0, "ip is blacklisted"}},
		{`"blacklistIPs": ["127.0.1.0/24"]`, "http://127.0.0.1:" + p, []any{200.0, 0.0, ""}},
	} {
		assert.Equal(t, c.want, shown(t, c.url, body, withOptions("{"+c.options+"}")), c.options)
	}
}

// secure is a TLS server that says how it was spoken to.
func secure(t *testing.T, config *tls.Config) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := ""
		if len(r.TLS.PeerCertificates) > 0 {
			name = r.TLS.PeerCertificates[0].SerialNumber.String()
		}
		_, _ = io.WriteString(w, name)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = config
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func TestTLSVersionsAndCipherSuites(t *testing.T) {
	u := secure(t, nil)
	const body = "const r = http.get(U); show([r.status, r.tls_version, r.tls_cipher_suite])"
	for options, want := range map[string][]any{
		`"tlsVersion": "tls1.2", "tlsCipherSuites": ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"]`:         {200.0, "tls1.2", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"},
		`"tlsVersion": {"max": "tls1.2"}, "tlsCipherSuites": ["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"]`: {200.0, "tls1.2", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"},
	} {
		assert.Equal(t, want, shown(t, u, body, withOptions(`{"insecureSkipTLSVerify": true, `+options+`}`)), options)
	}
	got := shown(t, secure(t, &tls.Config{MaxVersion: tls.VersionTLS12}), "const r = http.get(U); show([r.status, r.error])",
		withOptions(`{"insecureSkipTLSVerify": true, "tlsVersion": {"min": "tls1.3"}}`)).([]any)
	assert.Equal(t, 0.0, got[0])
	assert.Contains(t, got[1], "protocol version")
}

func TestClientCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(4711), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	auth, err := json.Marshal([]any{map[string]any{
		"domains": []string{"example.com"},
		"cert":    string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		"key":     string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
	}})
	require.NoError(t, err)
	u := secure(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	assert.Equal(t, "4711", shown(t, u, "show(http.get(U).body)", withOptions(fmt.Sprintf(`{"insecureSkipTLSVerify": true, "tlsAuth": %s}`, auth))))
	assert.Equal(t, 0.0, shown(t, u, "show(http.get(U).status)", withOptions(`{"insecureSkipTLSVerify": true}`)))
}

func TestHTTP2Errors(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	assert.Equal(t, []any{0.0, 1633.0, "http2: stream error with http2 ErrCode INTERNAL_ERROR"},
		shown(t, s.URL, "const r = http.get(U); show([r.status, r.error_code, r.error])", withOptions(`{"insecureSkipTLSVerify": true}`)))
}

// A connection that the server closed just before is no connection at all: the time
// to make another one is not that of sending.
func TestPhasesAreThoseOfTheConnectionThatServed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") // and does not say that it closes
			}
			_ = c.Close()
		}
	}()
	assert.Equal(t, []any{20.0, 20.0}, shown(t, "http://"+l.Addr().String(), `let served = 0, connected = 0;
		for (let n = 0; n < 20; n++) { const r = http.get(U); served += r.status === 200; connected += r.timings.connecting > 0; }
		show([served, connected])`))
}
