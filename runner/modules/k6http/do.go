package k6http

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/retrylab/retrylab/runner/metrics"
)

// result is how a request ended. It holds no JS values.
type result struct {
	request *http.Request // as it was sent first
	sent    []byte        // its body, before it was compressed
	url     string

	status   int
	text     string
	proto    string
	header   http.Header
	cookies  []*http.Cookie
	body     []byte
	noBody   bool // there is no body, which is not an empty one
	bodyType bodyType
	timings  timings
	remote   net.Addr
	tls      *tls.ConnectionState
	code     int
	errText  string
	thrown   error
}

// hop is one round trip of a request; redirects and challenges make several.
type hop struct {
	req        *http.Request
	resp       *http.Response
	err        error
	trace      *trace
	challenged bool // the answer asks who is there, as is expected
}

// hops makes the round trips and has each one measured when the next begins.
type hops struct {
	r     *request
	last  *hop
	res   *result
	first *http.Response // of a trip that was made already; the next one is that
}

func (h *hops) RoundTrip(req *http.Request) (*http.Response, error) {
	if resp := h.first; resp != nil {
		h.first = nil
		return resp, nil
	}
	h.finish(nil)
	return h.trip(req.Context(), req)
}

func (h *hops) trip(ctx context.Context, req *http.Request) (*http.Response, error) {
	t := h.r.client.trace()
	traced := req.WithContext(httptrace.WithClientTrace(ctx, &t.client))
	resp, err := h.r.client.vu.Transport().RoundTrip(traced)
	h.last = &hop{req: req, resp: resp, err: err, trace: t}
	return resp, err
}

// finish measures the last hop; err is what went wrong after its headers.
func (h *hops) finish(err error) {
	if h.last == nil {
		return
	}
	if h.last.err == nil {
		h.last.err = err
	}
	h.r.measure(h.last, h.res)
	h.last = nil
}

// do makes the request and emits its metrics. It runs on any goroutine.
func (r *request) do() *result {
	res := &result{request: r.req, sent: r.body, url: r.url, bodyType: r.bodyType}
	set := r.client.vu.Settings()
	if err := set.Pacer.Wait(r.ctx); err != nil {
		return r.fail(res, err)
	}
	h := &hops{r: r, res: res}
	ctx, cancel := context.WithTimeout(r.ctx, r.timeout)
	defer cancel()
	resp, err := r.fetch(ctx, h, set.HTTPDebug)
	if err == nil {
		err = r.readAnswer(resp, res)
	}
	h.finish(err)
	if err != nil {
		return r.fail(res, err)
	}
	res.cookies = resp.Cookies()
	r.jar.set(resp.Request.URL, res.cookies)
	if res.url = r.address.text; resp.Request.URL != r.address.url {
		res.url = resp.Request.URL.String()
	}
	res.status, res.text, res.proto = resp.StatusCode, resp.Status, resp.Proto
	res.header, res.tls = resp.Header, resp.TLS
	return res
}

// fetch makes the round trips. Most requests are one, and need nothing else of
// what an [http.Client] does; where the answer is a redirect the client takes it
// from there.
func (r *request) fetch(ctx context.Context, h *hops, debugging string) (*http.Response, error) {
	if r.digest == nil && debugging == "" && r.req.URL.User == nil {
		resp, err := h.trip(ctx, r.req)
		switch {
		case err != nil:
			return nil, &url.Error{Op: r.req.Method[:1] + strings.ToLower(r.req.Method[1:]), URL: r.req.URL.Redacted(), Err: err}
		case resp.StatusCode/100 != 3:
			return resp, nil
		}
		h.first = resp
	}
	hc := http.Client{Transport: h, CheckRedirect: func(next *http.Request, via []*http.Request) error { return r.redirect(h.res, next, via) }}
	if debugging != "" {
		hc.Transport = &debug{next: h, log: r.client.vu.Logger(), full: debugging == "full"}
	}
	if r.digest != nil {
		hc.Transport = &digest{next: hc.Transport, hops: h, user: r.digest, host: r.req.URL.Host}
	}
	return hc.Do(r.req.WithContext(ctx))
}

// fail makes res the result of a request without an answer.
func (r *request) fail(res *result, err error) *result {
	if res.code == 0 { // it never came to a round trip
		res.code, res.errText = classify(err)
	}
	res.body = nil
	if r.throw {
		res.thrown = err
	} else if r.ctx.Err() == nil {
		r.client.vu.Warn("http "+res.errText, "request failed: "+err.Error())
	}
	return res
}

// redirect lets the client go on to next, with the cookies that belong there,
// or stops it at the limit.
func (r *request) redirect(res *result, next *http.Request, via []*http.Request) error {
	res.url = next.URL.String()
	r.jar.set(via[len(via)-1].URL, next.Response.Cookies())
	next.Header.Del("Cookie")
	r.addCookies(next)
	if len(via) <= r.redirects {
		return nil
	}
	if r.warnLimit {
		r.client.vu.Warn("redirects", fmt.Sprintf("stopped after %d redirects at %q and returned the redirection; the option maxRedirects or the parameter redirects sets the limit", len(via)-1, next.URL))
	}
	return http.ErrUseLastResponse
}

// readAnswer reads the body to its end, so that the connection can be reused.
func (r *request) readAnswer(resp *http.Response, res *result) error {
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return fmt.Errorf("unsupported response status: %s", resp.Status)
	case r.bodyType == bodyNone:
		_, err := io.Copy(io.Discard, resp.Body)
		return err
	case resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		res.noBody = true
		return nil
	}
	body, err := decoder(resp)
	if err == nil {
		res.body, err = readAll(body, resp)
	}
	if err != nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		return undecodable(err)
	}
	return nil
}

// readAll reads a body, which resp tells the length of if it is not encoded.
func readAll(body io.Reader, resp *http.Response) ([]byte, error) {
	if n := resp.ContentLength; body == resp.Body && n > 0 && n <= 1<<20 && resp.Request.Method != http.MethodHead {
		buf := make([]byte, n)
		_, err := io.ReadFull(body, buf)
		return buf, err
	}
	return io.ReadAll(body)
}

// decoder is a body without its encodings; unknown ones are left in it.
func decoder(resp *http.Response) (io.Reader, error) {
	var body io.Reader = resp.Body
	encoding := resp.Header.Get("Content-Encoding")
	if encoding == "" || resp.Request.Method == http.MethodHead {
		return body, nil
	}
	names := strings.Split(encoding, ",")
	for i := len(names) - 1; i >= 0; i-- {
		var err error
		switch name := strings.ToLower(strings.TrimSpace(names[i])); name {
		case "gzip":
			body, err = gzip.NewReader(body)
		case "deflate":
			body, err = zlib.NewReader(body)
		case "br", "zstd":
			err = &codedError{code: codeUndecodableBody, text: "cannot decompress the body: " + refusal{fmt.Sprintf("the compression %q", name)}.Error()}
		}
		if errors.Is(err, io.EOF) {
			return http.NoBody, nil // there is nothing to decode
		}
		if err != nil {
			return nil, err
		}
	}
	return body, nil
}

// undecodable is err with k6's code if it comes from decompression.
func undecodable(err error) error {
	var corrupt flate.CorruptInputError
	for _, e := range []error{gzip.ErrChecksum, gzip.ErrHeader, zlib.ErrChecksum, zlib.ErrDictionary, zlib.ErrHeader} {
		if errors.Is(err, e) {
			return &codedError{code: codeUndecodableBody, text: "cannot decompress the body: " + err.Error()}
		}
	}
	if errors.As(err, &corrupt) {
		return &codedError{code: codeUndecodableBody, text: "cannot decompress the body: " + err.Error()}
	}
	return err
}

// measure emits a hop's metrics and notes in res what belongs to the last one.
func (r *request) measure(h *hop, res *result) {
	end := time.Now()
	t, remote := h.trace.finish(end)
	// Over HTTP/2 a connection may be idle for a request that has begun another one.
	if h.err == nil && h.resp.ProtoMajor == 1 {
		r.client.keep(h.trace)
	}
	res.timings, res.remote = t, remote
	key := tagKey{base: r.tags, url: r.address.tag, method: h.req.Method}
	if h.req.URL != r.address.url {
		key.url = cleanURL(h.req.URL)
	}
	res.code, res.errText = 0, ""
	if h.err != nil {
		res.code, res.errText = classify(h.err)
		key.errText = res.errText
	} else {
		key.status, key.proto = h.resp.StatusCode, h.resp.Proto
		if h.resp.StatusCode >= 400 {
			res.code = 1000 + h.resp.StatusCode
		}
		if h.resp.TLS != nil {
			key.tls = tlsVersion(h.resp.TLS.Version)
		}
	}
	key.code = res.code
	if r.client.vu.Settings().SystemTags.Has("ip") {
		key.ip, _ = splitAddr(remote)
	}
	failed := 0.0
	if r.expect != nil {
		key.judged, key.expected = true, h.challenged || r.expect.match(key.status)
		if !key.expected {
			failed = 1
		}
	}
	tags := r.client.tags(key)
	b, at := r.client.vu.Builtin(), end.UnixNano()
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	samples := [9]metrics.Sample{
		{Metric: b.HTTPReqs, Tags: tags, Time: at, Value: 1},
		{Metric: b.HTTPReqDuration, Tags: tags, Time: at, Value: ms(t.duration)},
		{Metric: b.HTTPReqBlocked, Tags: tags, Time: at, Value: ms(t.blocked)},
		{Metric: b.HTTPReqConnecting, Tags: tags, Time: at, Value: ms(t.connecting)},
		{Metric: b.HTTPReqTLSHandshaking, Tags: tags, Time: at, Value: ms(t.tlsHandshaking)},
		{Metric: b.HTTPReqSending, Tags: tags, Time: at, Value: ms(t.sending)},
		{Metric: b.HTTPReqWaiting, Tags: tags, Time: at, Value: ms(t.waiting)},
		{Metric: b.HTTPReqReceiving, Tags: tags, Time: at, Value: ms(t.receiving)},
		{Metric: b.HTTPReqFailed, Tags: tags, Time: at, Value: failed},
	}
	n := len(samples)
	if !key.judged {
		n--
	}
	r.client.vu.Push(r.ctx, samples[:n]...)
}

// tagKey is what the tags of a hop depend on.
type tagKey struct {
	base             *metrics.TagSet
	url, method      string
	status, code     int
	proto, tls, ip   string
	errText          string
	judged, expected bool
}

// mostTags bounds a virtual user's cache of tag sets.
const mostTags = 1024

func (c *client) tags(k tagKey) *metrics.TagSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.tagCache[k]; ok {
		return t
	}
	system := c.vu.Settings().SystemTags
	t := k.base
	add := func(key, value string) { t = system.Add(t, key, value) }
	add("method", k.method)
	add("status", strconv.Itoa(k.status))
	if k.errText != "" {
		add("error", k.errText)
	}
	if k.code != 0 {
		add("error_code", strconv.Itoa(k.code))
	}
	if k.proto != "" {
		add("proto", k.proto)
	}
	if k.tls != "" {
		add("tls_version", k.tls)
	}
	if k.ip != "" {
		add("ip", k.ip)
	}
	if k.judged {
		add("expected_response", strconv.FormatBool(k.expected))
	}
	// What may be different in every request comes last: each step is kept.
	if name, ok := t.Get("name"); ok {
		add("url", name) // the user's name keeps the number of series low
	} else {
		add("name", k.url)
		add("url", k.url)
	}
	if len(c.tagCache) < mostTags {
		c.tagCache[k] = t
	}
	return t
}

// cleanURL is a URL without its user's name and password.
func cleanURL(u *url.URL) string {
	if u.User == nil {
		return u.String()
	}
	c := *u
	c.User = nil
	mask := "****"
	if _, ok := u.User.Password(); ok {
		mask = "****:****"
	}
	return strings.Replace(c.String(), "://", "://"+mask+"@", 1)
}
