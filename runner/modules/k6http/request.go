package k6http

import (
	"bytes"
	"context"
	"errors"
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
	url       string // as the script wrote it
	address   *address
	body      []byte // before it was compressed
	hasBody   bool
	compress  []string
	length    string // the header Content-Length, if the script set it
	timeout   time.Duration
	throw     bool
	redirects int
	warnLimit bool // say when the default limit of redirects was hit
	bodyType  bodyType
	expect    statuses
	tags      *metrics.TagSet
	jar       *jar
	cookies   []*http.Cookie
	replaced  map[string]bool // cookies that win over the jar's
	digest    *url.Userinfo   // answers digest challenges; nil if none are
}

func (r *request) read(method string, target, body, params sobek.Value) error {
	c := r.client
	set := c.vu.Settings()
	r.ctx, r.tags, r.expect, r.jar = c.vu.Context(), c.vu.Tags(), c.expect, c.jar()
	r.timeout, r.redirects, r.warnLimit, r.throw = 60*time.Second, set.MaxRedirects, set.WarnRedirects, set.Throw
	if set.DiscardResponseBodies {
		r.bodyType = bodyNone
	}
	opts, ok := params.(*sobek.Object)
	if !ok && !modules.IsNullish(params) {
		return fmt.Errorf("the request's parameters are %s, want an object", came(params))
	}
	if opts != nil {
		if v := opts.Get("throw"); !modules.IsNullish(v) {
			r.throw = v.ToBoolean()
		}
	}
	name := ""
	if t := templateOf(target); t != nil {
		r.url, name = t.url, t.name
	} else {
		r.url = target.String()
	}
	var err error
	if r.address, err = c.address(r.url); err != nil {
		return err
	}
	u := r.address.url
	r.req = &http.Request{
		Method: method, URL: u, Host: u.Host, Header: make(http.Header, 4),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if err := r.readArguments(body, opts); err != nil {
		var refused refusal
		if errors.As(err, &refused) {
			return err
		}
		return fmt.Errorf("request to %q: %w", u.Redacted(), err)
	}
	if name != "" && name != r.url && set.SystemTags.Has("name") {
		if _, ok := r.tags.Get("name"); !ok {
			r.tags = r.tags.With("name", name)
		}
	}
	r.addCookies(r.req)
	return r.attachBody()
}

// address is where a request goes. Requests of the same text share it, so that
// nobody may change it.
type address struct {
	url  *url.URL
	text string // the URL in its usual form
	tag  string // the same, without a name and password
}

// mostAddresses bounds what a virtual user remembers.
const mostAddresses = 256

func (c *client) address(text string) (*address, error) {
	if a, ok := c.addresses[text]; ok {
		return a, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil, &codedError{code: codeInvalidURL, text: fmt.Sprintf("invalid URL %q: want scheme://host/path", text)}
	}
	a := &address{u, u.String(), cleanURL(u)}
	if len(c.addresses) < mostAddresses {
		c.addresses[text] = a
	}
	return a, nil
}

func (r *request) readArguments(body sobek.Value, opts *sobek.Object) error {
	if !modules.IsNullish(body) {
		var contentType string
		var err error
		if r.body, contentType, err = readBody(body); err != nil {
			return err
		}
		r.hasBody = true
		if contentType != "" {
			r.req.Header.Set("Content-Type", contentType)
		}
	}
	r.req.Header.Set("User-Agent", r.client.vu.Settings().UserAgent)
	if opts == nil {
		return nil
	}
	for _, key := range opts.Keys() {
		v := opts.Get(key)
		if modules.IsNullish(v) && key != "responseCallback" {
			continue
		}
		if err := r.readParam(key, v); err != nil {
			return err
		}
	}
	return nil
}

func (r *request) readParam(key string, v sobek.Value) (err error) {
	switch key {
	case "headers":
		err = r.readHeaders(v)
	case "cookies":
		err = r.readCookies(v)
	case "jar":
		j, ok := v.Export().(*cookieJar)
		if !ok {
			return fmt.Errorf("jar is %s, want what http.cookieJar() or new http.CookieJar() makes", came(v))
		}
		r.jar = j.jar
	case "tags":
		r.tags, err = modules.AddTags(r.client.rt, r.tags, v)
	case "timeout":
		r.timeout, err = readTimeout(v)
	case "redirects":
		n, ok := v.Export().(int64)
		if !ok || n < 0 {
			return fmt.Errorf("redirects is %s, want a whole number of at least 0", came(v))
		}
		r.redirects, r.warnLimit = int(n), false
	case "compression":
		r.compress, err = encodings(v.String())
	case "auth":
		return r.readAuth(v)
	case "responseType":
		switch v.String() {
		case "text":
			r.bodyType = bodyText
		case "binary":
			r.bodyType = bodyBinary
		case "none":
			r.bodyType = bodyNone
		default:
			return fmt.Errorf("responseType is %s, want \"text\", \"binary\" or \"none\"", came(v))
		}
	case "responseCallback":
		r.expect, err = callback(v)
	}
	return err
}

func (r *request) readHeaders(v sobek.Value) error {
	o, ok := v.(*sobek.Object)
	if !ok {
		return fmt.Errorf("headers are %s, want an object", came(v))
	}
	for _, key := range o.Keys() {
		val := o.Get(key).String()
		switch strings.ToLower(key) {
		case "content-length":
			r.length = val
			continue
		case "host":
			r.req.Host = val
		}
		r.req.Header.Set(key, val)
	}
	return nil
}

func (r *request) readCookies(v sobek.Value) error {
	o, ok := v.(*sobek.Object)
	if !ok {
		return fmt.Errorf("cookies are %s, want an object", came(v))
	}
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
	return nil
}

// readAuth reads how the name and password in the URL are sent; net/http
// sends them as basic authentication unless they are taken out.
func (r *request) readAuth(v sobek.Value) error {
	switch v.String() {
	case "", "basic":
		return nil
	case "digest":
		if r.digest = r.req.URL.User; r.digest == nil {
			return errors.New("digest authentication needs a name and a password in the URL")
		}
		plain := *r.req.URL // others use it too
		plain.User = nil
		r.req.URL = &plain
		return nil
	case "ntlm":
		return refusal{`the authentication "ntlm"`}
	}
	return fmt.Errorf("auth is %s, want \"basic\" or \"digest\"", came(v))
}

// attachBody compresses the body and hands it to the HTTP request.
func (r *request) attachBody() error {
	if r.hasBody {
		data, err := compress(r.body, r.compress)
		if err != nil {
			return err
		}
		if want := strings.Join(r.compress, ", "); want != "" {
			if got := r.req.Header.Get("Content-Encoding"); got == "" {
				r.req.Header.Set("Content-Encoding", want)
			} else if got != want {
				r.client.vu.Warn("content-encoding", fmt.Sprintf("the header Content-Encoding %q of the request to %q is sent as it is, though its body is encoded as %q", got, r.req.URL.Redacted(), want))
			}
		}
		r.req.ContentLength = int64(len(data))
		r.req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		r.req.Body, _ = r.req.GetBody()
	}
	if r.length != "" && r.length != strconv.FormatInt(r.req.ContentLength, 10) {
		r.client.vu.Warn("content-length", fmt.Sprintf("the header Content-Length %q was ignored: the body of the request to %q has %d bytes", r.length, r.req.URL.Redacted(), r.req.ContentLength))
	}
	return nil
}

// readTimeout reads a JS duration: text with units, or a number of milliseconds.
func readTimeout(v sobek.Value) (time.Duration, error) {
	text := v.String()
	if ms, err := strconv.ParseFloat(text, 64); err == nil && ms >= 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("timeout is %s, want text like \"1.5s\" or a number of milliseconds", came(v))
	}
	return d, nil
}

// template is what the template tag `http.url` makes: a URL and its name, in
// which the values are left out.
type template struct{ url, name string }

func (t *template) String() string { return t.url }

// templateOf is the template in a value, nil if it is none.
func templateOf(v sobek.Value) *template {
	o, ok := v.(*sobek.Object)
	if !ok {
		return nil
	}
	t, _ := o.Export().(*template)
	return t
}

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
