package k6http

import (
	"compress/gzip"
	"compress/zlib"
	"context"
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
	method, url string
	sentHeader  http.Header
	sentBody    []byte
	hadBody     bool

	status   int
	text     string
	proto    string
	header   http.Header
	cookies  []*http.Cookie
	body     []byte
	bodyType bodyType
	timings  timings
	remote   net.Addr
	tls      string
	code     int
	errText  string
	thrown   error
}

// hop is one round trip of a request; redirects make several.
type hop struct {
	req   *http.Request
	resp  *http.Response
	err   error
	trace *trace
}

// hops makes the round trips and has each one measured when the next begins.
type hops struct {
	r    *request
	last *hop
	res  *result
}

func (h *hops) RoundTrip(req *http.Request) (*http.Response, error) {
	h.finish(nil)
	t := newTrace()
	traced := req.WithContext(httptrace.WithClientTrace(req.Context(), &t.client))
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
	res := &result{method: r.req.Method, url: r.url, sentHeader: r.req.Header, sentBody: r.body, hadBody: r.hasBody, bodyType: r.bodyType}
	h := &hops{r: r, res: res}
	ctx, cancel := context.WithTimeout(r.ctx, r.timeout)
	defer cancel()
	hc := http.Client{
		Transport: h,
		Jar:       &requestJar{jar: &r.client.jar, own: r.cookies, replaced: r.replaced},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			res.url = req.URL.String()
			if len(via) <= r.redirects {
				return nil
			}
			if r.warnLimit {
				r.client.vu.Warn("redirects", fmt.Sprintf("stopped after %d redirects at %q and returned the redirection; the option maxRedirects or the parameter redirects sets the limit", len(via)-1, req.URL))
			}
			return http.ErrUseLastResponse
		},
	}
	resp, err := hc.Do(r.req.WithContext(ctx))
	if err == nil {
		res.body, err = r.readAnswer(resp)
	}
	h.finish(err)
	if err != nil {
		if res.code == 0 { // it never came to a round trip
			res.code, res.errText = classify(err)
		}
		res.body = nil
		if r.throw {
			res.thrown = err
		} else if r.ctx.Err() == nil {
			r.client.vu.Warn("http "+res.errText, "request failed: "+shorten(err))
		}
		return res
	}
	res.url = resp.Request.URL.String()
	res.status, res.text, res.proto = resp.StatusCode, resp.Status, resp.Proto
	res.header, res.cookies = resp.Header, resp.Cookies()
	return res
}

// shorten is an error's text without what net/http repeats around it.
func shorten(err error) string {
	var ue *url.Error
	if errors.As(err, &ue) {
		return fmt.Sprintf("%s %q: %s", ue.Op, ue.URL, ue.Err)
	}
	return err.Error()
}

// readAnswer reads the body to its end, so that the connection can be reused.
func (r *request) readAnswer(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	if r.bodyType == bodyNone {
		_, err := io.Copy(io.Discard, resp.Body)
		return nil, err
	}
	var src io.Reader = resp.Body
	var closer io.Closer
	var err error
	switch strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))) {
	case "gzip":
		var z *gzip.Reader
		if z, err = gzip.NewReader(resp.Body); err == nil {
			src, closer = z, z
		}
	case "deflate":
		var z io.ReadCloser
		if z, err = zlib.NewReader(resp.Body); err == nil {
			src, closer = z, z
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil // an answer without a body, to HEAD for example
	case err != nil:
		return nil, &codedError{code: codeUndecodableBody, text: "cannot decompress the body: " + err.Error()}
	}
	if closer != nil {
		defer closer.Close()
	}
	if n := resp.ContentLength; n > 0 && n <= 1<<20 && closer == nil && resp.Request.Method != http.MethodHead {
		buf := make([]byte, n)
		if _, err := io.ReadFull(src, buf); err != nil {
			return nil, err
		}
		return buf, nil
	}
	return io.ReadAll(src)
}

// measure emits a hop's metrics and notes in res what belongs to the last one.
func (r *request) measure(h *hop, res *result) {
	end := time.Now()
	t, remote := h.trace.finish(end)
	res.timings, res.remote = t, remote
	key := tagKey{base: r.tags, url: cleanURL(h.req.URL), method: h.req.Method}
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
			res.tls = key.tls
		}
	}
	key.code = res.code
	failed := 0.0
	if r.expect != nil {
		key.judged, key.expected = true, r.expect.match(key.status)
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
	proto, tls       string
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
	t := k.base
	if name, ok := t.Get("name"); ok {
		t = t.With("url", name) // the user's name keeps the number of series low
	} else {
		t = t.With("name", k.url).With("url", k.url)
	}
	t = t.With("method", k.method).With("status", strconv.Itoa(k.status))
	if k.errText != "" {
		t = t.With("error", k.errText)
	}
	if k.code != 0 {
		t = t.With("error_code", strconv.Itoa(k.code))
	}
	if k.proto != "" {
		t = t.With("proto", k.proto)
	}
	if k.tls != "" {
		t = t.With("tls_version", k.tls)
	}
	if k.judged {
		t = t.With("expected_response", strconv.FormatBool(k.expected))
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
