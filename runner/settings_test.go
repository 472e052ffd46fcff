package runner

import (
	"crypto/tls"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNetworkOptions(t *testing.T) {
	o, warnings, err := ParseOptions([]byte(`{"rps": 5, "httpDebug": "full", "systemTags": [], "maxRedirects": 3, "batchPerHost": 0,
		"tlsVersion": {"min": "tls1.0", "max": "tls1.3"}, "tlsCipherSuites": ["TLS_RSA_WITH_RC4_128_SHA", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"],
		"hosts": {"a.test": "1.2.3.4", "*.b.test": "[::1]:80"}, "blockHostnames": ["*.c.test"], "blacklistIPs": ["10.1.2.3/8", "::1/128"]}`))
	require.NoError(t, err)
	assert.Empty(t, warnings)
	require.NoError(t, o.Validate())
	s, err := o.settings()
	require.NoError(t, err)
	assert.NotNil(t, s.Pacer)
	assert.Equal(t, "full", s.HTTPDebug)
	assert.False(t, s.SystemTags.Has("url"))
	assert.Equal(t, 3, s.MaxRedirects)
	assert.False(t, s.WarnRedirects)
	n, err := o.network()
	require.NoError(t, err)
	assert.Equal(t, []uint16{tls.VersionTLS10, tls.VersionTLS13}, []uint16{n.MinTLS, n.MaxTLS})
	assert.Equal(t, []uint16{tls.TLS_RSA_WITH_RC4_128_SHA, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256}, n.CipherSuites)
	assert.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}, n.BlockedIPs)
	a, ok := n.Hosts.Find("a.test")
	assert.True(t, ok)
	assert.Equal(t, netip.AddrPortFrom(netip.MustParseAddr("1.2.3.4"), 0), a)
	b, ok := n.Hosts.Find("x.b.test")
	assert.True(t, ok)
	assert.Equal(t, netip.MustParseAddrPort("[::1]:80"), b)

	s, err = Options{}.settings()
	require.NoError(t, err)
	assert.Nil(t, s.Pacer)
	assert.True(t, s.WarnRedirects)
	assert.True(t, s.SystemTags.Has("url"))
	assert.False(t, s.SystemTags.Has("vu"))
}

func TestNetworkOptionsInTheEnvironment(t *testing.T) {
	o, err := EnvOptions([]string{
		"K6_RPS=5", "K6_HTTP_DEBUG=full", "K6_SYSTEM_TAGS=url, vu", `K6_HOSTS={"a.test": "1.2.3.4"}`, "K6_BLOCK_HOSTNAMES=a.test,*.b.test", "K6_BLACKLIST_IPS=10.0.0.0/8",
		"K6_TLS_CIPHER_SUITES=TLS_RSA_WITH_RC4_128_SHA", `K6_TLSAUTH=[{"cert": "c", "key": "k"}]`,
	})
	require.NoError(t, err)
	assert.Equal(t, Options{
		RPS: p(5), HTTPDebug: p("full"), SystemTags: []string{"url", "vu"}, Hosts: map[string]string{"a.test": "1.2.3.4"},
		BlockHostnames: []string{"a.test", "*.b.test"}, BlacklistIPs: []string{"10.0.0.0/8"},
		TLSCipherSuites: []string{"TLS_RSA_WITH_RC4_128_SHA"}, TLSAuth: []TLSAuth{{Cert: "c", Key: "k"}},
	}, o)
}

func TestNetworkOptionsNameEveryFault(t *testing.T) {
	for text, want := range map[string]string{
		`{"hosts": ["a"]}`:                                  "options.hosts: [\"a\"] is no object of IP addresses",
		`{"hosts": {"a": {}}}`:                              `options.hosts: the value of "a" is {}, want text`,
		`{"hosts": "{"}`:                                    `options.hosts: "{" is not JSON`,
		`{"tlsVersion": 1.2}`:                               `options.tlsVersion: 1.2 is neither a version like "tls1.2" nor {min, max}`,
		`{"tlsVersion": {"from": "tls1.2"}}`:                `options.tlsVersion: unknown key "from", want some of max, min`,
		`{"tlsVersion": {"min": 1}}`:                        `options.tlsVersion: the value of "min" is 1, want text`,
		`{"tlsAuth": {}}`:                                   "options.tlsAuth: {} is no list of {cert, key}",
		`{"tlsAuth": ["x"]}`:                                `options.tlsAuth: element 0 is "x", want {cert, key}`,
		`{"tlsAuth": [{"cert": 1}]}`:                        `options.tlsAuth: element 0: the value of "cert" is 1, want text`,
		`{"tlsAuth": [{"cert": "", "password": "geheim"}]}`: "options.tlsAuth: element 0: the password of a key is not in the built-in runner; use a k6 build (see README)",
		`{"rps": "many"}`:                                   `options.rps: "many" is not a whole number`,
		`{"httpDebug": true}`:                               "options.httpDebug: true is not text",
		`{"blacklistIPs": [1]}`:                             "options.blacklistIPs: element 0 is 1, want text",
	} {
		_, _, err := ParseOptions([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
	err := Options{
		HTTPDebug: p("loud"), SystemTags: []string{"url", "ocsp_status", "typo"}, Hosts: map[string]string{"a.test": "b.test", "a*b": "1.2.3.4"},
		BlockHostnames: []string{"a b"}, BlacklistIPs: []string{"10.0.0.1"}, TLSVersion: &TLSVersions{Min: "tls1.3", Max: "tls1.2"},
		TLSCipherSuites: []string{"ROT13"}, TLSAuth: []TLSAuth{{Cert: "c", Key: "k"}}, RPS: p(-1),
	}.Validate()
	for _, want := range []string{
		`httpDebug: "loud" is none of headers, full`, `systemTags: "ocsp_status" is not in the built-in runner; use a k6 build (see README)`, `"typo" is no system tag: want some of check, error`,
		`hosts: "b.test" is no IP address with or without a port`, `hosts: "a*b" is no host name`, `blockHostnames: "a b" is no host name`,
		`blacklistIPs: "10.0.0.1" is no range of addresses: want one like "10.0.0.0/8"`, `tlsVersion: min "tls1.3" is newer than max "tls1.2"`,
		`tlsCipherSuites: "ROT13" is no cipher suite`, "tlsAuth[0]: tls: failed to find any PEM data",
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), "rps", "what is not more than 0 limits nothing, as in k6")
	require.ErrorContains(t, Options{TLSVersion: &TLSVersions{Min: "ssl3"}}.Validate(), `tlsVersion: "ssl3" is none of tls1.0, tls1.1, tls1.2, tls1.3`)
}
