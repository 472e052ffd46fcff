// Package http1 makes HTTP/1.1 requests over plain connections on the goroutine
// of its caller.
//
// net/http's transport has two goroutines for each connection, and hands every
// request and answer from one to the other. A load generator whose virtual users
// wait for their answers anyway pays for that at each request. What is out of the
// ordinary (TLS, a proxy, a large body, an upgrade …) is left to net/http.
package http1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"time"
)

// mostBody is the longest body, in bytes, that is sent here: one that fits into
// what a connection buffers, so that sending it never waits for a server that
// answers first and reads no more.
const mostBody = 16 << 10

// justUsed is how long a connection was idle at most of which we take it that it is
// open still.
const justUsed = time.Millisecond

// Transport is an [http.RoundTripper] that behaves as the [http.Transport] it is
// made of. It may be used from several goroutines.
type Transport struct {
	next *http.Transport
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu     sync.Mutex
	idle   map[string][]*conn // by host and port as URLs have them; the last one was used last
	closed bool               // idle connections, since the last request
	swept  time.Time          // idle connections were looked through
}

// New returns a transport that makes the plain requests, and leaves all others to
// next. Of next's fields it heeds Proxy, DialContext, DisableKeepAlives,
// MaxIdleConnsPerHost and IdleConnTimeout; next must ask for no compression of its
// own (DisableCompression) and not limit its connections.
func New(next *http.Transport) *Transport {
	t := &Transport{next: next, dial: next.DialContext, idle: map[string][]*conn{}}
	if t.dial == nil {
		t.dial = new(net.Dialer).DialContext
	}
	return t
}

// Clone returns a copy of the transport for what is not plain, which makes any
// request, and has no connection yet.
func (t *Transport) Clone() *http.Transport { return t.next.Clone() }

// RoundTrip makes a request as [http.Transport] does, with its errors and the hooks
// of [httptrace]. An idle connection that the server has closed is not used, or if
// it was busy a moment ago the request is repeated, where that may be done.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !t.takes(req) {
		return t.next.RoundTrip(req)
	}
	ctx := req.Context()
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		trace = &httptrace.ClientTrace{}
	}
	repeat := repeatable(req)
	if empty(req) {
		closeBody(req)
		plain := *req // with a body that would be asked for its first byte
		plain.Body = nil
		req = &plain
	}
	for {
		if ctx.Err() != nil {
			closeBody(req)
			return nil, context.Cause(ctx)
		}
		c, err := t.connect(req, repeat, trace)
		if err != nil {
			closeBody(req)
			return nil, err
		}
		resp, err := c.roundTrip(req, trace)
		var stale *staleError
		if !errors.As(err, &stale) {
			return resp, err
		}
		if !repeat {
			return nil, stale.err
		}
		if req, err = rewound(req); err != nil {
			return nil, err
		}
	}
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	all := t.idle
	t.idle, t.closed = map[string][]*conn{}, true
	t.mu.Unlock()
	for _, conns := range all {
		for _, c := range conns {
			_ = c.net.Close()
		}
	}
	t.next.CloseIdleConnections()
}

// takes says whether a request is plain.
func (t *Transport) takes(req *http.Request) bool {
	u := req.URL
	if !canProbe || u == nil || u.Scheme != "http" || u.Host == "" || !isASCII(u.Host) ||
		t.next.DisableKeepAlives || req.Close ||
		req.ContentLength < 0 || req.ContentLength > mostBody || req.ContentLength == 0 && req.Body != nil && req.Body != http.NoBody && !empty(req) ||
		len(req.TransferEncoding) > 0 || len(req.Trailer) > 0 || !plainHeader(req.Header) {
		return false
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
	default:
		return false
	}
	if t.next.Proxy != nil {
		proxy, err := t.next.Proxy(req)
		return proxy == nil && err == nil
	}
	return true
}

// empty says whether the request has a body of no bytes that says so, by which its
// maker keeps it from being repeated: it has no GetBody either.
func empty(req *http.Request) bool {
	body, ok := req.Body.(interface{ Len() int })
	return ok && req.ContentLength == 0 && body.Len() == 0
}

// plainHeader says whether a header can be sent as it is and asks for nothing that
// concerns the connection.
func plainHeader(h http.Header) bool {
	if h == nil {
		return false
	}
	for name, values := range h {
		switch name {
		case "", "Connection", "Expect", "Upgrade":
			return false
		}
		for i := range len(name) {
			if c := name[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
		for _, value := range values {
			for i := range len(value) {
				if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
					return false
				}
			}
		}
	}
	return true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// repeatable says whether a request may be sent once more where no byte of an
// answer came: RFC 9110, section 9.2.2, in the way of net/http.
func repeatable(req *http.Request) bool {
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return false
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return req.Header.Get("Idempotency-Key") != "" || req.Header.Get("X-Idempotency-Key") != ""
}

// connect returns an idle connection to the request's host, or a new one.
func (t *Transport) connect(req *http.Request, repeat bool, trace *httptrace.ClientTrace) (*conn, error) {
	ctx, host := req.Context(), req.URL.Host
	addr := host
	if trace.GetConn != nil {
		addr = withPort(host)
		trace.GetConn(addr)
	}
	got := httptrace.GotConnInfo{Reused: true, WasIdle: true}
	c := t.takeIdle(host, repeat)
	if c != nil {
		got.IdleTime = time.Since(c.idleSince)
	} else {
		n, err := t.dial(ctx, "tcp", withPort(addr))
		if err != nil {
			// The dialer has the same deadline, and may be a moment before the context.
			if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) {
				<-ctx.Done()
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, err
		}
		c, got = newConn(t, host, n), httptrace.GotConnInfo{}
	}
	if trace.GotConn != nil {
		got.Conn = c.net
		trace.GotConn(got)
	}
	return c, nil
}

// withPort is the host with its port, which is 80 if none is said.
func withPort(host string) string {
	u := url.URL{Host: host}
	if u.Port() != "" {
		return host
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// takeIdle returns an idle connection to the host that the server has not closed,
// the one used last; nil if there is none. To look costs as much as to read: where a
// request may be repeated, one that was just used is taken as it is.
func (t *Transport) takeIdle(host string, repeatable bool) *conn {
	for {
		t.mu.Lock()
		t.closed = false
		conns := t.idle[host]
		if len(conns) == 0 {
			t.mu.Unlock()
			return nil
		}
		c := conns[len(conns)-1]
		conns[len(conns)-1] = nil
		t.idle[host] = conns[:len(conns)-1]
		t.mu.Unlock()
		idle, most := time.Since(c.idleSince), t.next.IdleConnTimeout
		if (most <= 0 || idle < most) && (repeatable && idle < justUsed || c.open()) {
			return c
		}
		_ = c.net.Close()
	}
}

// putIdle keeps a connection for the next request, or closes it.
func (t *Transport) putIdle(c *conn) {
	t.mu.Lock()
	t.sweep()
	conns := t.idle[c.host]
	keep := t.next.MaxIdleConnsPerHost
	if keep == 0 {
		keep = http.DefaultMaxIdleConnsPerHost
	}
	if len(conns) < keep && !t.closed {
		c.idleSince = time.Now()
		t.idle[c.host] = append(conns, c)
		c = nil
	}
	t.mu.Unlock()
	if c != nil {
		_ = c.net.Close()
	}
}

// sweep closes the idle connections that are not to be used any more, of all hosts,
// now and then. t.mu is held.
func (t *Transport) sweep() {
	const pause = time.Second
	now, most := time.Now(), t.next.IdleConnTimeout
	if wait := now.Sub(t.swept); wait < pause && (most <= 0 || wait < most) {
		return
	}
	t.swept = now
	for host, conns := range t.idle {
		kept := slices.DeleteFunc(conns, func(c *conn) bool {
			old := most > 0 && now.Sub(c.idleSince) >= most || !c.open()
			if old {
				_ = c.net.Close()
			}
			return old
		})
		if t.idle[host] = kept; len(kept) == 0 {
			delete(t.idle, host)
		}
	}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// rewound is a request with its body from the start.
func rewound(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	again := *req
	again.Body = body
	return &again, nil
}
