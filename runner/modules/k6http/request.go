package k6http

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
)

// bodyType is what becomes of an answer's body.
type bodyType uint8

const (
	bodyText bodyType = iota
	bodyBinary
	bodyNone
)

// request is a request whose arguments were read. It holds no JS values, so
// that do can run on any goroutine.
type request struct {
	client    *client
	ctx       context.Context
	req       *http.Request
	url       string
	body      []byte
	hasBody   bool
	timeout   time.Duration
	throw     bool
	redirects int
	warnLimit bool // say when the default limit of redirects was hit
	bodyType  bodyType
	expect    statuses
	tags      *metrics.TagSet
	cookies   []*http.Cookie
	replaced  map[string]bool // cookies that win over the jar's
}

func (r *request) read(method string, target, body, params sobek.Value) error {
	c := r.client
	set := c.vu.Settings()
	r.ctx, r.tags, r.expect = c.vu.Context(), c.vu.Tags(), c.expect
	r.timeout, r.redirects, r.warnLimit, r.throw = 60*time.Second, set.MaxRedirects, true, set.Throw
	if set.DiscardResponseBodies {
		r.bodyType = bodyNone
	}
	name := ""
	if o, ok := target.(*sobek.Object); ok {
		if t, ok := o.Export().(*template); ok {
			r.url, name = t.url, t.name
		}
	}
	if r.url == "" {
		r.url = target.String()
	}
	u, err := url.Parse(r.url)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return &codedError{code: codeInvalidURL, text: fmt.Sprintf("invalid URL %q: want scheme://host/path", r.url)}
	}
	header := make(http.Header, 4)
	r.req = &http.Request{Method: strings.ToUpper(method), URL: u, Host: u.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if err := r.readBody(body); err != nil {
		return err
	}
	header.Set("User-Agent", set.UserAgent)
	if err := r.readParams(params); err != nil {
		return err
	}
	if name != "" {
		if _, ok := r.tags.Get("name"); !ok {
			r.tags = r.tags.With("name", name)
		}
	}
	if r.hasBody {
		r.req.ContentLength = int64(len(r.body))
		r.req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.body)), nil }
		r.req.Body, _ = r.req.GetBody()
	}
	return nil
}

func (r *request) readBody(body sobek.Value) error {
	if modules.IsNullish(body) {
		return nil
	}
	r.hasBody = true
	o, ok := body.(*sobek.Object)
	if !ok {
		r.body = []byte(body.String())
		return nil
	}
	switch data := o.Export().(type) {
	case sobek.ArrayBuffer:
		r.body = bytes.Clone(data.Bytes())
		return nil
	case []byte:
		r.body = bytes.Clone(data)
		return nil
	case string:
		r.body = []byte(data)
		return nil
	}
	form := make(url.Values)
	for _, key := range o.Keys() {
		v := o.Get(key)
		if list, ok := v.(*sobek.Object); ok && list.ClassName() == "Array" {
			for _, i := range list.Keys() {
				form.Add(key, list.Get(i).String())
			}
			continue
		}
		form.Set(key, v.String())
	}
	r.body = []byte(form.Encode())
	r.req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return nil
}

func (r *request) readParams(params sobek.Value) error {
	if modules.IsNullish(params) {
		return nil
	}
	rt := r.client.rt
	o := params.ToObject(rt)
	for _, key := range o.Keys() {
		v := o.Get(key)
		if modules.IsNullish(v) && key != "responseCallback" {
			continue
		}
		var err error
		switch key {
		case "headers":
			r.readHeaders(v.ToObject(rt))
		case "tags":
			r.tags, err = modules.AddTags(rt, r.tags, v)
		case "timeout":
			r.timeout, err = readTimeout(v)
		case "throw":
			r.throw = v.ToBoolean()
		case "redirects":
			r.redirects, r.warnLimit = int(v.ToInteger()), false
		case "responseType":
			switch v.String() {
			case "text":
				r.bodyType = bodyText
			case "binary":
				r.bodyType = bodyBinary
			case "none":
				r.bodyType = bodyNone
			default:
				err = fmt.Errorf("responseType %q is none of text, binary, none", v.String())
			}
		case "responseCallback":
			r.expect, err = callback(v)
		case "cookies":
			r.readCookies(v.ToObject(rt))
		case "jar", "auth", "compression":
			modules.Throw(rt, "the request parameter %q is not in the built-in runner; use a k6 build (see README)", key)
		}
		if err != nil {
			return fmt.Errorf("request to %q: %w", r.url, err)
		}
	}
	return nil
}

func (r *request) readHeaders(o *sobek.Object) {
	for _, key := range o.Keys() {
		val := o.Get(key).String()
		switch strings.ToLower(key) {
		case "host":
			r.req.Host = val
		case "content-length":
			if val != strconv.Itoa(len(r.body)) {
				r.client.vu.Warn("content-length", fmt.Sprintf("the header Content-Length %q was ignored: the body of the request to %q has %d bytes", val, r.url, len(r.body)))
			}
		default:
			r.req.Header.Set(key, val)
		}
	}
}

func (r *request) readCookies(o *sobek.Object) {
	for _, name := range o.Keys() {
		v := o.Get(name)
		if modules.IsNullish(v) {
			continue
		}
		cookie := &http.Cookie{Name: name}
		if attrs, ok := v.(*sobek.Object); ok {
			if val := attrs.Get("value"); !modules.IsNullish(val) {
				cookie.Value = val.String()
			}
			if rep := attrs.Get("replace"); rep != nil && rep.ToBoolean() {
				if r.replaced == nil {
					r.replaced = make(map[string]bool)
				}
				r.replaced[name] = true
			}
		} else {
			cookie.Value = v.String()
		}
		r.cookies = append(r.cookies, cookie)
	}
}

// readTimeout reads a JS duration: text with units, or a number of milliseconds.
func readTimeout(v sobek.Value) (time.Duration, error) {
	text := v.String()
	if ms, err := strconv.ParseFloat(text, 64); err == nil && ms >= 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("timeout %q is no duration: want text like \"1.5s\" or a number of milliseconds", text)
	}
	return d, nil
}

// template is what the template tag `http.url` makes: a URL and its name, in
// which the values are left out.
type template struct{ url, name string }

func (t *template) String() string { return t.url }

func (c *client) url(call sobek.FunctionCall) sobek.Value {
	parts, ok := call.Argument(0).(*sobek.Object)
	if !ok || parts.ClassName() != "Array" {
		u := call.Argument(0).String()
		return c.rt.ToValue(&template{url: u, name: u})
	}
	var u, name strings.Builder
	for i, key := range parts.Keys() {
		text := parts.Get(key).String()
		u.WriteString(text)
		name.WriteString(text)
		if i+1 < len(call.Arguments) {
			u.WriteString(call.Argument(i + 1).String())
			name.WriteString("${}")
		}
	}
	return c.rt.ToValue(&template{url: u.String(), name: name.String()})
}
