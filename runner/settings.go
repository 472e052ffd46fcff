package runner

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/vu"
)

// TLSVersions are the oldest and newest acceptable version of TLS: tls1.0,
// tls1.1, tls1.2 or tls1.3; empty leaves the choice to the runner.
type TLSVersions struct {
	Min string `json:"min,omitempty"`
	Max string `json:"max,omitempty"`
}

// TLSAuth is a client certificate with its key, both as PEM text.
type TLSAuth struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// settings are the options that modules look at. Its error names every fault.
func (o Options) settings() (modules.Settings, error) {
	s := modules.Settings{
		UserAgent:             or(o.UserAgent, "retrylab"),
		Throw:                 or(o.Throw, false),
		DiscardResponseBodies: or(o.DiscardResponseBodies, false),
		MaxRedirects:          or(o.MaxRedirects, 10),
		WarnRedirects:         o.MaxRedirects == nil,
		Batch:                 or(o.Batch, 20), BatchPerHost: or(o.BatchPerHost, 6),
		NoCookiesReset: or(o.NoCookiesReset, false),
		HTTPDebug:      or(o.HTTPDebug, ""),
	}
	if n := or(o.RPS, 0); n > 0 {
		s.Pacer = modules.NewPacer(n)
	}
	var faults []error
	if o.SystemTags != nil {
		var err error
		if s.SystemTags, err = modules.NewSystemTags(o.SystemTags); err != nil {
			faults = append(faults, fmt.Errorf("systemTags: %w", err))
		}
	}
	switch s.HTTPDebug {
	case "", "headers", "full":
	default:
		faults = append(faults, fmt.Errorf("httpDebug: %q is none of headers, full", s.HTTPDebug))
	}
	return s, errors.Join(faults...)
}

// network is how the options let virtual users reach servers. Its error names
// every fault.
func (o Options) network() (vu.Net, error) {
	n := vu.Net{
		InsecureSkipTLSVerify: or(o.InsecureSkipTLSVerify, false),
		NoConnectionReuse:     or(o.NoConnectionReuse, false),
		NoVUConnectionReuse:   or(o.NoVUConnectionReuse, false),
	}
	var faults []error
	check := func(option string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", option, err))
		}
	}
	var err error
	if v := o.TLSVersion; v != nil {
		n.MinTLS, err = tlsVersion(v.Min)
		check("tlsVersion", err)
		n.MaxTLS, err = tlsVersion(v.Max)
		check("tlsVersion", err)
		if n.MinTLS > n.MaxTLS && n.MaxTLS != 0 {
			check("tlsVersion", fmt.Errorf("min %q is newer than max %q", v.Min, v.Max))
		}
	}
	for _, name := range o.TLSCipherSuites {
		id, err := cipherSuite(name)
		check("tlsCipherSuites", err)
		n.CipherSuites = append(n.CipherSuites, id)
	}
	for i, auth := range o.TLSAuth {
		cert, err := tls.X509KeyPair([]byte(auth.Cert), []byte(auth.Key))
		check(fmt.Sprintf("tlsAuth[%d]", i), err)
		n.Certificates = append(n.Certificates, cert)
	}
	hosts := make(map[string]netip.AddrPort, len(o.Hosts))
	for _, name := range slices.Sorted(maps.Keys(o.Hosts)) {
		hosts[name], err = address(o.Hosts[name])
		check("hosts", err)
	}
	n.Hosts, err = vu.NewHostnames(hosts)
	check("hosts", err)
	blocked := make(map[string]string, len(o.BlockHostnames))
	for _, name := range o.BlockHostnames {
		blocked[name] = name
	}
	n.BlockedHosts, err = vu.NewHostnames(blocked)
	check("blockHostnames", err)
	for _, text := range o.BlacklistIPs {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			check("blacklistIPs", fmt.Errorf("%q is no range of addresses: want one like \"10.0.0.0/8\"", text))
			continue
		}
		n.BlockedIPs = append(n.BlockedIPs, prefix.Masked())
	}
	return n, errors.Join(faults...)
}

func tlsVersion(name string) (uint16, error) {
	switch name {
	case "":
		return 0, nil
	case "tls1.0":
		return tls.VersionTLS10, nil
	case "tls1.1":
		return tls.VersionTLS11, nil
	case "tls1.2":
		return tls.VersionTLS12, nil
	case "tls1.3":
		return tls.VersionTLS13, nil
	}
	return 0, fmt.Errorf("%q is none of tls1.0, tls1.1, tls1.2, tls1.3", name)
}

// cipherSuite is a suite by its name; those with ChaCha20 also have one
// without the hash.
func cipherSuite(name string) (uint16, error) {
	for _, list := range [][]*tls.CipherSuite{tls.CipherSuites(), tls.InsecureCipherSuites()} {
		for _, s := range list {
			if s.Name == name || s.Name == name+"_SHA256" {
				return s.ID, nil
			}
		}
	}
	return 0, fmt.Errorf("%q is no cipher suite that crypto/tls knows: want one like \"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\"", name)
}

// address is an IP address with or without a port.
func address(text string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddrPort(text); err == nil {
		return a, nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is no IP address with or without a port", text)
	}
	return netip.AddrPortFrom(ip, 0), nil
}

// fromJSON is the value of a JSON text, and any other value itself: what is an
// object or a list in a script is JSON in the environment.
func fromJSON(v any) (any, error) {
	s, ok := v.(string)
	if !ok {
		return v, nil
	}
	var out any
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		return nil, fmt.Errorf("%q is not JSON: %w", s, err)
	}
	return out, nil
}

func hosts(v any) (map[string]string, error) {
	v, err := fromJSON(v)
	if err != nil {
		return nil, err
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, fmt.Errorf("%s is no object of IP addresses", show(v))
	}
	return pairs(v)
}

// tlsVersions reads one version, or `{min, max}`.
func tlsVersions(v any) (*TLSVersions, error) {
	switch v := v.(type) {
	case string:
		return &TLSVersions{Min: v, Max: v}, nil
	case map[string]any:
		out := &TLSVersions{}
		return out, fields(v, map[string]*string{"min": &out.Min, "max": &out.Max})
	}
	return nil, fmt.Errorf("%s is neither a version like \"tls1.2\" nor {min, max}", show(v))
}

// tlsAuth reads `[{cert, key, domains}]`. As in k6 the domains decide nothing:
// a server is shown the first certificate of an authority that it asks for.
func tlsAuth(v any) ([]TLSAuth, error) {
	v, err := fromJSON(v)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is no list of {cert, key}", show(v))
	}
	out := make([]TLSAuth, len(list))
	for i, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("element %d is %s, want {cert, key}", i, show(e))
		}
		if m["password"] != nil {
			return nil, fmt.Errorf("element %d: the password of a key is not in the built-in runner; use a k6 build (see README)", i)
		}
		m = maps.Clone(m)
		delete(m, "domains")
		delete(m, "password")
		if err := fields(m, map[string]*string{"cert": &out[i].Cert, "key": &out[i].Key}); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return out, nil
}

// fields reads an object whose values are texts.
func fields(m map[string]any, into map[string]*string) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		to, ok := into[key]
		if !ok {
			return fmt.Errorf("unknown key %q, want some of %s", key, strings.Join(slices.Sorted(maps.Keys(into)), ", "))
		}
		if *to, ok = m[key].(string); !ok {
			return fmt.Errorf("the value of %q is %s, want text", key, show(m[key]))
		}
	}
	return nil
}
