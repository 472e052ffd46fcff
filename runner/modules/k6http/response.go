package k6http

import (
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"github.com/tidwall/gjson"

	"github.com/retrylab/retrylab/runner/modules"
)

var responseKeys = [...]string{
	"remote_ip", "remote_port", "url", "status", "status_text", "proto", "headers", "cookies", "body",
	"timings", "tls_version", "tls_cipher_suite", "error", "error_code", "request",
}

// response is a result as the script sees it: its fields become JS values when
// they are asked for, since most never are.
type response struct {
	c      *client
	res    *result
	values map[string]sobek.Value
}

var _ sobek.DynamicObject = (*response)(nil)

func (c *client) response(res *result) sobek.Value {
	return c.rt.NewDynamicObject(&response{c: c, res: res})
}

// Get is a property's value, nil if there is none of this name.
func (r *response) Get(key string) sobek.Value {
	switch key {
	case "status":
		if v, ok := r.values[key]; ok {
			return v
		}
		return r.c.rt.ToValue(r.res.status)
	}
	if v, ok := r.values[key]; ok {
		return v
	}
	v := r.make(key)
	if v != nil {
		r.Set(key, v)
	}
	return v
}

// Set keeps a value that the script gives a property.
func (r *response) Set(key string, v sobek.Value) bool {
	if r.values == nil {
		r.values = make(map[string]sobek.Value, 4)
	}
	r.values[key] = v
	return true
}

// Has says whether there is a property of this name.
func (r *response) Has(key string) bool { return key == "ocsp" || r.Get(key) != nil }

// Delete makes a property undefined.
func (r *response) Delete(key string) bool {
	r.Set(key, sobek.Undefined())
	return true
}

// Keys are the enumerable properties.
func (r *response) Keys() []string { return responseKeys[:] }

func (r *response) make(key string) sobek.Value {
	rt, res := r.c.rt, r.res
	switch key {
	case "status_text":
		return rt.ToValue(res.text)
	case "url":
		return rt.ToValue(res.url)
	case "proto":
		return rt.ToValue(res.proto)
	case "error":
		return rt.ToValue(res.errText)
	case "error_code":
		return rt.ToValue(res.code)
	case "tls_version":
		if res.tls == nil {
			return rt.ToValue("")
		}
		return rt.ToValue(tlsVersion(res.tls.Version))
	case "tls_cipher_suite":
		if res.tls == nil {
			return rt.ToValue("")
		}
		return rt.ToValue(tls.CipherSuiteName(res.tls.CipherSuite))
	case "ocsp":
		modules.Throw(rt, "%s", refusal{"Response.ocsp"})
	case "remote_ip":
		ip, _ := splitAddr(res.remote)
		return rt.ToValue(ip)
	case "remote_port":
		_, port := splitAddr(res.remote)
		return rt.ToValue(port)
	case "body":
		return r.body()
	case "headers":
		o := rt.NewObject()
		for name, vals := range res.header {
			_ = o.Set(name, strings.Join(vals, ", "))
		}
		return o
	case "cookies":
		return r.cookies()
	case "timings":
		return r.timings()
	case "request":
		return r.request()
	case "json":
		return rt.ToValue(r.json)
	case "html", "submitForm", "clickLink":
		return rt.ToValue(func(sobek.FunctionCall) sobek.Value {
			modules.Throw(rt, "%s", refusal{"Response." + key})
			return nil
		})
	}
	return nil
}

func (r *response) body() sobek.Value {
	switch {
	case r.res.bodyType == bodyNone || r.res.noBody || r.res.status == 0:
		return sobek.Null()
	case r.res.bodyType == bodyBinary:
		return r.c.rt.ToValue(r.c.rt.NewArrayBuffer(r.res.body))
	}
	return r.c.rt.ToValue(string(r.res.body))
}

func (r *response) timings() sobek.Value {
	o := r.c.rt.NewObject()
	t := r.res.timings
	for _, p := range []struct {
		name string
		d    time.Duration
	}{
		{"duration", t.duration}, {"blocked", t.blocked}, {"looking_up", 0}, {"connecting", t.connecting},
		{"tls_handshaking", t.tlsHandshaking}, {"sending", t.sending}, {"waiting", t.waiting}, {"receiving", t.receiving},
	} {
		_ = o.Set(p.name, float64(p.d)/float64(time.Millisecond))
	}
	return o
}

func (r *response) cookies() sobek.Value {
	rt := r.c.rt
	o := rt.NewObject()
	byName := make(map[string][]any)
	for _, c := range r.res.cookies {
		expires := int64(0)
		if !c.Expires.IsZero() {
			expires = c.Expires.UnixMilli()
		}
		byName[c.Name] = append(byName[c.Name], map[string]any{
			"name": c.Name, "value": c.Value, "domain": c.Domain, "path": c.Path,
			"http_only": c.HttpOnly, "secure": c.Secure, "max_age": c.MaxAge, "expires": expires,
		})
		_ = o.Set(c.Name, rt.NewArray(byName[c.Name]...))
	}
	return o
}

func (r *response) request() sobek.Value {
	rt, req := r.c.rt, r.res.request
	headers := rt.NewObject()
	for name, vals := range req.Header {
		_ = headers.Set(name, r.strings(vals))
	}
	cookies := rt.NewObject()
	byName := make(map[string][]any)
	for _, c := range req.Cookies() {
		byName[c.Name] = append(byName[c.Name], map[string]any{"name": c.Name, "value": c.Value, "replace": false})
		_ = cookies.Set(c.Name, rt.NewArray(byName[c.Name]...))
	}
	o := rt.NewObject()
	_ = o.Set("method", req.Method)
	_ = o.Set("url", req.URL.String())
	_ = o.Set("headers", headers)
	_ = o.Set("cookies", cookies)
	_ = o.Set("body", string(r.res.sent))
	return o
}

func (r *response) strings(list []string) sobek.Value {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return r.c.rt.NewArray(out...)
}

// json is Response.json(selector): the body as a value, or what a gjson path
// finds in it, undefined if that is nothing or the body is not JSON.
func (r *response) json(c sobek.FunctionCall) sobek.Value {
	rt := r.c.rt
	if sobek.IsNull(r.body()) {
		modules.Throw(rt, "json(): the response has no body (status %d, error %q)", r.res.status, r.res.errText)
	}
	text := string(r.res.body)
	if sel := c.Argument(0); !modules.IsNullish(sel) {
		if !gjson.Valid(text) {
			return sobek.Undefined()
		}
		found := gjson.Get(text, sel.String())
		if !found.Exists() {
			return sobek.Undefined()
		}
		text = found.Raw
	}
	parse, _ := sobek.AssertFunction(rt.GlobalObject().Get("JSON").ToObject(rt).Get("parse"))
	v, err := parse(sobek.Undefined(), rt.ToValue(text))
	if err != nil {
		modules.Throw(rt, "json(): the body is not JSON: %s", start(text))
	}
	return v
}

func start(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return strconv.Quote(string(r[:most])) + "…"
	}
	return strconv.Quote(s)
}

// splitAddr is an address's IP and port.
func splitAddr(a net.Addr) (string, int) {
	if a == nil {
		return "", 0
	}
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "", 0
	}
	n, _ := strconv.Atoi(port)
	return host, n
}

// tlsVersion is k6's name of a version.
func tlsVersion(v uint16) string {
	switch v {
	case tls.VersionTLS10:
		return "tls1.0"
	case tls.VersionTLS11:
		return "tls1.1"
	case tls.VersionTLS12:
		return "tls1.2"
	case tls.VersionTLS13:
		return "tls1.3"
	}
	return ""
}
