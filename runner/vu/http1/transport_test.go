package http1_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/vu/http1"
)

// script is a server that answers the n-th request of all, from 0, with what it is
// told to write, and closes the connection where it says so.
type script struct {
	url         string
	connections atomic.Int32
	requests    atomic.Int32
	closed      chan struct{} // gets one for each connection that the server has closed
}

type reply struct {
	text  string
	after chan struct{} // waits for it when the text is sent
	close bool          // then
	reset bool          // in place of a polite end
}

func serve(t *testing.T, answer func(n int, r *http.Request, body string) reply) *script {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &script{url: "http://" + l.Addr().String(), closed: make(chan struct{}, 1000)}
	var conns sync.Map
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			conns.Store(c, true)
			all.Go(func() {
				defer func() {
					_ = c.Close()
					s.closed <- struct{}{}
				}()
				in := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					body, _ := io.ReadAll(r.Body)
					rep := answer(int(s.requests.Add(1)-1), r, string(body))
					if _, err := io.WriteString(c, rep.text); err != nil {
						return
					}
					if rep.after != nil {
						<-rep.after
					}
					if rep.reset {
						_ = c.(*net.TCPConn).SetLinger(0)
					}
					if rep.close || rep.reset {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		conns.Range(func(c, _ any) bool { _ = c.(net.Conn).Close(); return true })
		all.Wait()
	})
	return s
}

func always(text string) func(int, *http.Request, string) reply {
	return func(int, *http.Request, string) reply { return reply{text: text} }
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// base is what net/http does, and what ours is made of.
func base(t *testing.T) *http.Transport {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wrapped{c}, nil
	}
	n := &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}
	t.Cleanup(n.CloseIdleConnections)
	return n
}

// wrapped is a connection as virtual users have it: with no more methods than all
// have, but that of the one inside.
type wrapped struct{ net.Conn }

func (c wrapped) NetConn() net.Conn { return c.Conn }

func ours(t *testing.T) *http1.Transport {
	n := http1.New(base(t))
	t.Cleanup(n.CloseIdleConnections)
	return n
}

var port = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// seen is all that a caller sees of a request.
func seen(t *testing.T, rt http.RoundTripper, req *http.Request) string {
	t.Helper()
	var b strings.Builder
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			fmt.Fprintln(&b, "early", code, header)
			return nil
		},
	})
	resp, err := rt.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return b.String() + "error " + port.ReplaceAllString(err.Error(), "ADDR")
	}
	body, err := io.ReadAll(resp.Body)
	fmt.Fprintln(&b, resp.Status, resp.StatusCode, resp.Proto, resp.Header, resp.ContentLength, resp.TransferEncoding, resp.Close, resp.Uncompressed)
	fmt.Fprintf(&b, "%q %v %v", body, err, resp.Trailer)
	_, again := resp.Body.Read(make([]byte, 1))
	fmt.Fprint(&b, " then ", again)
	assert.NoError(t, resp.Body.Close())
	return b.String()
}

func request(t *testing.T, method, target, body string) *http.Request {
	t.Helper()
	var from io.Reader
	if body != "" {
		from = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, target, from)
	require.NoError(t, err)
	return req
}

// What a server may answer: ours shows the same as net/http's transport.
func TestAnswersAreThoseOfNetHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		text   string
		close  bool
		reset  bool
	}{
		"length":            {text: ok},
		"no reason":         {text: "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok"},
		"empty":             {text: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"chunked":           {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"},
		"chunked, empty":    {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		"trailer":           {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n1\r\na\r\n0\r\nA: b\r\n\r\n"},
		"bad chunk":         {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", close: true},
		"no length":         {text: "HTTP/1.1 200 OK\r\n\r\nall of it", close: true},
		"HTTP/1.0":          {text: "HTTP/1.0 200 OK\r\n\r\nold", close: true},
		"HTTP/1.0, kept":    {text: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nold"},
		"says close":        {text: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", close: true},
		"204":               {text: "HTTP/1.1 204 No Content\r\n\r\n"},
		"304":               {text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n"},
		"head":              {method: http.MethodHead, text: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"},
		"head, chunked":     {method: http.MethodHead, text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"},
		"continue":          {text: "HTTP/1.1 100 Continue\r\n\r\n" + ok},
		"early hints":       {text: "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: b\r\n\r\n" + ok},
		"nothing":           {close: true},
		"reset":             {reset: true},
		"half a line":       {text: "HTTP/1.1 20", close: true},
		"half a header":     {text: "HTTP/1.1 200 OK\r\nContent-", close: true},
		"half a body":       {text: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", close: true},
		"half a chunk":      {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf", close: true},
		"not HTTP":          {text: "SSH-2.0-OpenSSH_9.9\r\n\r\n", close: true},
		"bad header":        {text: "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", close: true},
		"bad length":        {text: "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n", close: true},
		"two lengths":       {text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", close: true},
		"endless header":    {text: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 11<<20) + "\r\n\r\n", close: true},
		"compressed":        {text: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok"},
		"upgrade":           {text: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", close: true},
		"redirect":          {text: "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"},
		"answer to a POST":  {method: http.MethodPost, text: ok},
		"nothing to a POST": {method: http.MethodPost, close: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(int, *http.Request, string) reply { return reply{text: c.text, close: c.close, reset: c.reset} })
			do := func(rt http.RoundTripper) string {
				// The second request shows what became of the connection.
				one := seen(t, rt, request(t, c.method, s.url, ""))
				return one + "\n" + seen(t, rt, request(t, c.method, s.url, ""))
			}
			want, theirs := do(base(t)), s.connections.Load()
			got := do(ours(t))
			assert.Equal(t, want, got)
			assert.Equal(t, theirs, s.connections.Load()-theirs, "connections")
		})
	}
}

// listen hears one request, of which it sends the bytes.
func listen(t *testing.T) (target string, heard chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	heard = make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		var all strings.Builder
		r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c, &all)))
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err == nil {
			heard <- all.String()
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		}
	}()
	return "http://" + l.Addr().String(), heard
}

// Nobody counts them here, so that their bytes are limited.
func TestEndless1xxAnswersAreThoseOfNetHTTP(t *testing.T) {
	s := serve(t, func(int, *http.Request, string) reply {
		return reply{text: strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("a", 10_000)+"\r\n\r\n", 1_100) + ok}
	})
	do := func(rt http.RoundTripper) string {
		_, err := rt.RoundTrip(request(t, http.MethodGet, s.url, ""))
		require.Error(t, err)
		return err.Error()
	}
	assert.Equal(t, do(base(t)), do(ours(t)))
}

// listen hears for byte what net/http sends.
func TestRequestsAreThoseOfNetHTTP(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"plain":             func(*http.Request) {},
		"header":            func(r *http.Request) { r.Header.Set("X-A", "b"); r.Header.Add("X-A", " c\t") },
		"agent":             func(r *http.Request) { r.Header.Set("User-Agent", "Retry Lab") },
		"no agent":          func(r *http.Request) { r.Header.Set("User-Agent", "") },
		"host":              func(r *http.Request) { r.Host = "shop.test" },
		"query":             func(r *http.Request) { r.URL.RawQuery = "a=%20b" },
		"user":              func(r *http.Request) { r.URL.User = url.UserPassword("me", "secret") },
		"no header":         func(r *http.Request) { r.Header = nil },
		"closing":           func(r *http.Request) { r.Close = true },
		"connection":        func(r *http.Request) { r.Header.Set("Connection", "close") },
		"custom method":     func(r *http.Request) { r.Method = "PURGE" },
		"no method":         func(r *http.Request) { r.Method = "" },
		"bad header name":   func(r *http.Request) { r.Header["a b"] = []string{"c"} },
		"bad header value":  func(r *http.Request) { r.Header["A"] = []string{"b\r\nC: d"} },
		"unknown length":    func(r *http.Request) { r.ContentLength = -1; r.Body = io.NopCloser(strings.NewReader("body")) },
		"length not said":   func(r *http.Request) { r.ContentLength = 0; r.Body = io.NopCloser(strings.NewReader("body")) },
		"length too long":   func(r *http.Request) { r.ContentLength = 9; r.Body = io.NopCloser(strings.NewReader("body")) },
		"large":             func(r *http.Request) { long(r, 1<<20) },
		"not ASCII":         func(r *http.Request) { r.URL.Host = "bücher.test" },
		"no host":           func(r *http.Request) { r.URL.Host = "" },
		"another scheme":    func(r *http.Request) { r.URL.Scheme = "ftp" },
		"bad URL":           func(r *http.Request) { r.URL = nil },
		"fails as it sends": func(r *http.Request) { r.ContentLength = 9; r.Body = io.NopCloser(unreadable{}) },
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			t.Run(method+" "+name, func(t *testing.T) {
				t.Parallel()
				do := func(rt http.RoundTripper) string {
					target, heard := listen(t)
					body := ""
					if method == http.MethodPost || method == http.MethodPut {
						body = "body"
					}
					req := request(t, method, target+"/path", body)
					change(req)
					got := seen(t, rt, req)
					if strings.HasPrefix(got, "error") {
						return got
					}
					return got + "\n" + port.ReplaceAllString(<-heard, "ADDR")
				}
				assert.Equal(t, do(base(t)), do(ours(t)))
			})
		}
	}
}

type unreadable struct{}

func (unreadable) Read([]byte) (int, error) { return 0, errors.New("cannot read the body") }

func long(r *http.Request, n int) {
	text := strings.Repeat("x", n)
	r.ContentLength = int64(n)
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	r.Body, _ = r.GetBody()
}

func get(t *testing.T, rt http.RoundTripper, target string) {
	t.Helper()
	resp, err := rt.RoundTrip(request(t, http.MethodGet, target, ""))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
}

func TestOneConnectionServesManyRequests(t *testing.T) {
	s := serve(t, always(ok))
	rt := ours(t)
	for range 100 {
		get(t, rt, s.url)
	}
	assert.EqualValues(t, 1, s.connections.Load())
	assert.EqualValues(t, 100, s.requests.Load())
}

func TestIdleConnectionsAreKeptUpToTheirLimit(t *testing.T) {
	release := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(6)
	s := serve(t, func(n int, _ *http.Request, _ string) reply {
		if n < 6 {
			waiting.Done()
			<-release
		}
		return reply{text: ok}
	})
	rt := ours(t)
	burst := func(n int) {
		var all sync.WaitGroup
		for range n {
			all.Go(func() { get(t, rt, s.url) })
		}
		if n == 6 {
			waiting.Wait()
			close(release)
		}
		all.Wait()
	}
	burst(6)
	require.EqualValues(t, 6, s.connections.Load())
	for range 4 {
		get(t, rt, s.url)
	}
	assert.EqualValues(t, 6, s.connections.Load(), "there are idle ones")
	rt.CloseIdleConnections()
	get(t, rt, s.url)
	assert.EqualValues(t, 7, s.connections.Load(), "there are none any more")
}

// A server may close a connection whenever nothing is under way.
func TestConnectionClosedWhileIdleIsNotUsed(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			s := serve(t, func(int, *http.Request, string) reply {
				return reply{text: ok, close: true} // and does not say so
			})
			rt := ours(t)
			for range 5 {
				assert.Contains(t, seen(t, rt, request(t, method, s.url, "")), `"ok"`)
				ends(t, s)
			}
			assert.EqualValues(t, 5, s.connections.Load())
			assert.EqualValues(t, 5, s.requests.Load(), "none was sent twice to a server that hears")
		})
	}
}

// The server closes just when the request is sent: nothing can tell whether it
// was heard.
func TestOnlyWhatMayBeRepeatedIsSentAgain(t *testing.T) {
	for _, c := range []struct {
		method, key string
		sent        int
	}{
		{http.MethodGet, "", 3}, {http.MethodHead, "", 3}, {http.MethodOptions, "", 3},
		{http.MethodPost, "", 2}, {http.MethodPut, "", 2}, {http.MethodDelete, "", 2}, {http.MethodPatch, "", 2},
		{http.MethodPost, "Idempotency-Key", 3}, {http.MethodPost, "X-Idempotency-Key", 3},
	} {
		t.Run(c.method+" "+c.key, func(t *testing.T) {
			t.Parallel()
			do := func(rt http.RoundTripper) (string, int32) {
				s := serve(t, func(n int, _ *http.Request, _ string) reply {
					if n == 1 {
						return reply{close: true} // it heard, and says nothing
					}
					return reply{text: "HTTP/1.1 204 No Content\r\n\r\n"}
				})
				get(t, rt, s.url)
				req := request(t, c.method, s.url, "body")
				if c.key != "" {
					req.Header.Set(c.key, "1")
				}
				return seen(t, rt, req), s.requests.Load()
			}
			got, sent := do(ours(t))
			assert.EqualValues(t, c.sent, sent)
			if c.sent == 2 {
				assert.Equal(t, "error EOF", got)
			}
			want, theirs := do(base(t))
			assert.Equal(t, want, got)
			assert.Equal(t, theirs, sent)
		})
	}
}

func TestFirstRequestOfAConnectionIsNeverSentAgain(t *testing.T) {
	s := serve(t, func(int, *http.Request, string) reply { return reply{close: true} })
	assert.Equal(t, "error EOF", seen(t, ours(t), request(t, http.MethodGet, s.url, "")))
	assert.EqualValues(t, 1, s.requests.Load())
}

// What comes on an idle connection belongs to no request.
func TestWhatNobodyAskedForEndsAConnection(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		s := serve(t, always(ok+"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"))
		rt := ours(t)
		for range 3 {
			assert.Contains(t, seen(t, rt, request(t, method, s.url, "")), `"ok"`)
		}
		assert.EqualValues(t, 3, s.connections.Load())
	}
}

func TestOldIdleConnectionIsNotUsed(t *testing.T) {
	s := serve(t, always(ok))
	n := base(t)
	n.IdleConnTimeout = time.Nanosecond
	rt := http1.New(n)
	get(t, rt, s.url)
	get(t, rt, s.url)
	assert.EqualValues(t, 2, s.connections.Load())
}

// The end of a context ends the request at once, wherever it is.
func TestEndOfTheContextEndsARequest(t *testing.T) {
	cause := errors.New("the user has left")
	for name, text := range map[string]string{
		"before the answer": "",
		"in the header":     "HTTP/1.1 200 OK\r\nA:",
		"in the body":       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
	} {
		for _, by := range []string{"cancel", "deadline"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				t.Parallel()
				sent, release := make(chan struct{}), make(chan struct{})
				defer close(release)
				s := serve(t, func(n int, _ *http.Request, _ string) reply {
					if n == 0 {
						close(sent)
						return reply{text: text, after: release}
					}
					return reply{text: ok}
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				want := cause
				if by == "deadline" {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, 30*time.Millisecond)
					defer stop()
					want = context.DeadlineExceeded
				} else {
					go func() {
						<-sent
						cancel(cause)
					}()
				}
				defer cancel(nil)
				rt := ours(t)
				resp, err := rt.RoundTrip(request(t, http.MethodGet, s.url, "").WithContext(ctx))
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				require.ErrorIs(t, err, want)
				get(t, rt, s.url)
				assert.EqualValues(t, 2, s.connections.Load(), "the connection is not used again")
			})
		}
	}
}

func TestRequestOfAnEndedContextIsNotSent(t *testing.T) {
	s := serve(t, always(ok))
	rt := ours(t)
	get(t, rt, s.url)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		_, err := rt.RoundTrip(request(t, http.MethodGet, s.url, "").WithContext(ctx))
		require.ErrorIs(t, err, context.Canceled)
		rt.CloseIdleConnections() // the second finds none
	}
	assert.EqualValues(t, 1, s.requests.Load())
}

// An answer that has come whole stays one.
func TestContextMayEndBeforeAnAnswerIsRead(t *testing.T) {
	s := serve(t, always(ok))
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := ours(t).RoundTrip(request(t, http.MethodGet, s.url, "").WithContext(ctx))
	require.NoError(t, err)
	cancel()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "ok", string(text))
}

// A context that ends after the answer leaves the connection alone.
func TestContextMayEndAfterTheAnswer(t *testing.T) {
	s := serve(t, always(ok))
	rt := ours(t)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := rt.RoundTrip(request(t, http.MethodPost, s.url, "").WithContext(ctx))
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		cancel()
	}
	assert.EqualValues(t, 1, s.connections.Load())
}

func TestBodyClosedBeforeItsEndEndsTheConnection(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s := serve(t, func(n int, _ *http.Request, _ string) reply {
		if n == 0 {
			return reply{text: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", after: release}
		}
		return reply{text: ok}
	})
	rt := ours(t)
	resp, err := rt.RoundTrip(request(t, http.MethodGet, s.url, ""))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close()) // does not wait for the rest
	require.NoError(t, resp.Body.Close())
	_, err = resp.Body.Read(make([]byte, 1))
	require.EqualError(t, err, "http: read on closed response body")
	get(t, rt, s.url)
	assert.EqualValues(t, 2, s.connections.Load())
}

// Virtual users have a time of each step.
func TestHooksAreCalledAsNetHTTPDoes(t *testing.T) {
	s := serve(t, always("HTTP/1.1 103 Early Hints\r\n\r\n"+ok))
	steps := func(rt http.RoundTripper) (all []string) {
		for range 2 {
			var mu sync.Mutex
			add := func(format string, args ...any) {
				mu.Lock()
				all = append(all, port.ReplaceAllString(fmt.Sprintf(format, args...), "ADDR"))
				mu.Unlock()
			}
			req := request(t, http.MethodGet, s.url, "")
			req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
				GetConn:              func(addr string) { add("get %s", addr) },
				ConnectStart:         func(network, addr string) { add("connect %s %s", network, addr) },
				ConnectDone:          func(network, addr string, err error) { add("connected %s %s %v", network, addr, err) },
				GotConn:              func(i httptrace.GotConnInfo) { add("got %s %v %v", i.Conn.RemoteAddr(), i.Reused, i.WasIdle) },
				WroteHeaders:         func() { add("headers") },
				WroteRequest:         func(i httptrace.WroteRequestInfo) { add("wrote %v", i.Err) },
				Got1xxResponse:       func(code int, _ textproto.MIMEHeader) error { add("early %d", code); return nil },
				GotFirstResponseByte: func() { add("first") },
			}))
			resp, err := rt.RoundTrip(req)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			mu.Lock()
			all = append(all, "answer")
			mu.Unlock()
		}
		return all
	}
	got := steps(ours(t))
	assert.Equal(t, []string{
		"get ADDR", "connect tcp ADDR", "connected tcp ADDR <nil>", "got ADDR false false", "headers", "wrote <nil>", "first", "early 103", "answer",
		"get ADDR", "got ADDR true true", "headers", "wrote <nil>", "first", "early 103", "answer",
	}, got)
	want := steps(base(t)) // of two goroutines, whose order is open
	slices.Sort(want)
	slices.Sort(got)
	assert.Equal(t, want, got)
}

func TestErrorsOfDialingAreThoseOfNetHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	target := "http://" + l.Addr().String()
	require.NoError(t, l.Close())
	got := seen(t, ours(t), request(t, http.MethodGet, target, ""))
	assert.Contains(t, got, "connection refused")
	assert.Equal(t, seen(t, base(t), request(t, http.MethodGet, target, "")), got)
	var op *net.OpError
	_, err = ours(t).RoundTrip(request(t, http.MethodGet, target, ""))
	require.ErrorAs(t, err, &op)
	assert.Equal(t, "dial", op.Op)
}

// A URL without a port means port 80.
func TestPortIs80(t *testing.T) {
	for host, want := range map[string]string{"shop.test": "shop.test:80", "[::1]": "[::1]:80", "shop.test:81": "shop.test:81", "shop.test:": "shop.test:80"} {
		var dialed string
		n := base(t)
		n.DialContext = func(_ context.Context, _, addr string) (net.Conn, error) { dialed = addr; return nil, errors.New("no") }
		_, err := http1.New(n).RoundTrip(request(t, http.MethodGet, "http://"+host+"/", ""))
		require.EqualError(t, err, "no")
		assert.Equal(t, want, dialed)
	}
}

func TestProxyIsAsked(t *testing.T) {
	s := serve(t, func(_ int, r *http.Request, _ string) reply {
		return reply{text: fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(r.RequestURI), r.RequestURI)}
	})
	n := base(t)
	proxy, err := url.Parse(s.url)
	require.NoError(t, err)
	n.Proxy = http.ProxyURL(proxy)
	assert.Contains(t, seen(t, http1.New(n), request(t, http.MethodGet, "http://shop.test/a", "")), "http://shop.test/a")
}

func TestTLSIsLeftToNetHTTP(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "safe") }))
	defer s.Close()
	n := base(t)
	n.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig
	rt := http1.New(n)
	assert.Contains(t, seen(t, rt, request(t, http.MethodGet, s.URL, "")), "safe")
	assert.Contains(t, seen(t, rt.Clone(), request(t, http.MethodGet, s.URL, "")), "safe")
}

// answering is a connection that breaks after some bytes and has an answer then.
type answering struct {
	net.Conn // none
	room     int
	answer   io.Reader
	closed   bool
}

func (c *answering) Write(p []byte) (int, error) {
	n := min(len(p), c.room)
	if c.room -= n; n < len(p) {
		return n, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return n, nil
}

func (c *answering) Read(p []byte) (int, error) { return c.answer.Read(p) }

func (c *answering) Close() error { c.closed = true; return nil }

func (c *answering) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// A server that refuses a request before it has read all of it, and closes.
func TestAnswerBeforeAllIsSentIsTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		room, header, body int
	}{"in the header": {5_000, 20_000, 100}, "in the body": {5_000, 0, 15_000}, "at the end": {10, 0, 100}} {
		for answer, want := range map[string]string{
			"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno": "413",
			"": "net/http: HTTP/1.x transport connection broken: write tcp: broken pipe",
		} {
			conn := &answering{room: c.room, answer: strings.NewReader(answer)}
			n := base(t)
			n.DialContext = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
			req := request(t, http.MethodPost, "http://shop.test/", strings.Repeat("x", c.body))
			req.Header.Set("X-Long", strings.Repeat("y", c.header))
			resp, err := http1.New(n).RoundTrip(req)
			if answer == "" {
				require.EqualError(t, err, want, name)
				var op *net.OpError
				require.ErrorAs(t, err, &op, name)
			} else {
				require.NoError(t, err, name)
				assert.Equal(t, 413, resp.StatusCode, name)
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, err, name)
				assert.Equal(t, "no", string(body), name)
			}
			assert.True(t, conn.closed, "%s: it is used no more", name)
		}
	}
}

// late is a context whose deadline is over and which has not ended yet.
type late struct {
	context.Context
	ended chan struct{}
}

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }
func (c late) Done() <-chan struct{}     { return c.ended }
func (c late) Err() error {
	select {
	case <-c.ended:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// The dialer has the same deadline as the request, and may be a moment before it.
func TestDialerThatIsFirstAtTheDeadlineIsTheDeadline(t *testing.T) {
	ctx := late{t.Context(), make(chan struct{})}
	n := base(t)
	n.DialContext = func(context.Context, string, string) (net.Conn, error) {
		go close(ctx.ended)
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	_, err := http1.New(n).RoundTrip(request(t, http.MethodGet, "http://shop.test/", "").WithContext(ctx))
	require.Equal(t, context.DeadlineExceeded, err)
}

// What is idle is looked through when another connection becomes idle, of whatever
// host: nobody may come back to it.
func TestIdleConnectionsOfOtherHostsAreClosed(t *testing.T) {
	first, second := serve(t, always(ok)), serve(t, always(ok))
	n := base(t)
	n.IdleConnTimeout = time.Nanosecond
	rt := http1.New(n)
	get(t, rt, first.url)
	get(t, rt, second.url)
	ends(t, first)
}

// noRewind is a body of some bytes that cannot be sent twice.
type noRewind struct{ *strings.Reader }

func (noRewind) Close() error { return nil }

// A policy counts its calls: none may be made behind its back.
func TestRequestThatMustNotBeRepeatedIsNot(t *testing.T) {
	for _, text := range []string{"", "body"} {
		s := serve(t, func(n int, r *http.Request, body string) reply {
			assert.Equal(t, text, body)
			assert.Empty(t, r.TransferEncoding)
			return reply{text: ok, close: n == 1, reset: n == 1}
		})
		rt := ours(t)
		do := func() string {
			req := request(t, http.MethodGet, s.url, "")
			req.Body, req.ContentLength = noRewind{strings.NewReader(text)}, int64(len(text))
			return seen(t, rt, req)
		}
		assert.Contains(t, do(), `"ok"`)
		assert.EqualValues(t, 1, s.connections.Load())
		do() // the server answers it, and resets the connection
		ends(t, s)
		assert.Contains(t, do(), `"ok"`, "what is known to be closed is not used")
		assert.EqualValues(t, 3, s.requests.Load())
	}
}

// The end of the context ends a connection whose answer nobody reads.
func TestConnectionOfAnUnreadAnswerEndsWithTheContext(t *testing.T) {
	s := serve(t, always("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := ours(t).RoundTrip(request(t, http.MethodGet, s.url, "").WithContext(ctx))
	require.NoError(t, err)
	cancel()
	ends(t, s)
}

// BenchmarkRoundTrip has 20 callers and a small answer on loopback, so that the time
// is that of the CPU; the server's work is in it.
func BenchmarkRoundTrip(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	defer s.Close()
	plain := &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}
	for _, c := range []struct {
		name string
		rt   http.RoundTripper
	}{{"net/http", plain}, {"http1", http1.New(plain)}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(10)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					req, _ := http.NewRequestWithContext(b.Context(), http.MethodGet, s.URL, nil)
					resp, err := c.rt.RoundTrip(req)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			})
		})
	}
}
