package http1_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/vu/http1"
)

// opened begins n requests at once and returns their answers, unread.
func opened(t *testing.T, rt http.RoundTripper, target string, n int) (all []*http.Response) {
	t.Helper()
	for range n {
		resp, err := rt.RoundTrip(request(t, http.MethodGet, target, ""))
		require.NoError(t, err)
		all = append(all, resp)
	}
	return all
}

// read reads answers to their ends.
func read(t *testing.T, all ...*http.Response) {
	t.Helper()
	for _, resp := range all {
		_, err := io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
	}
}

// ends waits until the server has closed a connection.
func ends(t *testing.T, s *script) {
	t.Helper()
	select {
	case <-s.closed:
	case <-time.After(10 * time.Second):
		t.Error("no connection was closed")
	}
}

func TestSurplusIdleConnectionsAreClosed(t *testing.T) {
	for most, begun := range map[int]int{1: 2, 0: 3} { // 0: two, as net/http has it
		s := serve(t, always(ok))
		n := base(t)
		n.MaxIdleConnsPerHost = most
		rt := http1.New(n)
		read(t, opened(t, rt, s.url, begun)...)
		ends(t, s)
		rt.CloseIdleConnections()
	}
}

func TestConnectionsOfNoLimitedTimeAreKept(t *testing.T) {
	s := serve(t, always(ok))
	n := base(t)
	n.IdleConnTimeout = 0
	rt := http1.New(n)
	for range 2 {
		get(t, rt, s.url)
	}
	get(t, rt, serve(t, always(ok)).url)
	get(t, rt, s.url)
	assert.EqualValues(t, 1, s.connections.Load())
	rt.CloseIdleConnections()
}

func TestBusyConnectionIsClosedAfterCloseIdle(t *testing.T) {
	s := serve(t, always(ok))
	rt := ours(t)
	busy := opened(t, rt, s.url, 1)
	rt.CloseIdleConnections()
	read(t, busy...)
	ends(t, s)
	get(t, rt, s.url)
	get(t, rt, s.url)
	assert.EqualValues(t, 2, s.connections.Load(), "a new one is kept again")
}

func TestCloseIdleIsThatOfNetHTTPToo(t *testing.T) {
	s := serve(t, always(ok))
	rt := ours(t)
	seen(t, rt, request(t, "PURGE", s.url, ""))
	rt.CloseIdleConnections()
	ends(t, s)
}

func TestConnectionsThatAreNotToBeKeptAreNot(t *testing.T) {
	s := serve(t, always(ok))
	n := base(t)
	n.DisableKeepAlives = true
	rt := http1.New(n)
	get(t, rt, s.url)
	get(t, rt, s.url)
	assert.EqualValues(t, 2, s.connections.Load())
}

func TestLastUsedConnectionIsUsedFirst(t *testing.T) {
	s := serve(t, always(ok))
	rt := ours(t)
	var used []string
	do := func() *http.Response {
		req := request(t, http.MethodGet, s.url, "")
		resp, err := rt.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			GotConn: func(i httptrace.GotConnInfo) { used = append(used, i.Conn.LocalAddr().String()) },
		})))
		require.NoError(t, err)
		return resp
	}
	read(t, do(), do())
	read(t, do())
	assert.Equal(t, used[1], used[2])
}

func TestConnectionThatTheServerWantsClosedIsNotUsed(t *testing.T) {
	s := serve(t, always("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"))
	rt := ours(t)
	get(t, rt, s.url)
	get(t, rt, s.url)
	assert.EqualValues(t, 2, s.connections.Load())
}

func TestAnswerDoesNotWaitForTheBody(t *testing.T) {
	for name, change := range map[string]func(*http.Request, io.ReadCloser){
		"large":           func(r *http.Request, _ io.ReadCloser) { long(r, 32<<20) },
		"length not said": func(r *http.Request, never io.ReadCloser) { r.ContentLength, r.Body, r.GetBody = 0, never, nil },
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		release := make(chan struct{})
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
			}
			<-release
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		never, end := io.Pipe()
		req := request(t, http.MethodPost, "http://"+l.Addr().String(), "body").WithContext(ctx)
		change(req, never)
		assert.True(t, strings.HasPrefix(seen(t, ours(t), req), "413"), name)
		cancel()
		close(release)
		_ = end.Close()
		_ = l.Close()
	}
}

func TestBodyMayBeLongerThanAHeader(t *testing.T) {
	s := serve(t, always("HTTP/1.1 200 OK\r\nContent-Length: 11534336\r\n\r\n"+strings.Repeat("x", 11<<20)))
	get(t, ours(t), s.url)
}
