package httpcall_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience"
	"github.com/retrylab/retrylab/resilience/httpcall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, h http.HandlerFunc) (*httptest.Server, *http.Transport) {
	t.Helper()
	s := httptest.NewServer(h)
	transport := new(http.Transport)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close()
	})
	return s, transport
}

func TestAttemptSaysWhichItIs(t *testing.T) {
	var got http.Header
	var body string
	s, transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		b, _ := io.ReadAll(r.Body)
		body = r.Method + " " + string(b)
	})
	header := http.Header{"X-Own": {"1"}}
	result := httpcall.Do(t.Context(), transport,
		resilience.Attempt{Number: 2, Timeout: 259_900 * time.Microsecond},
		httpcall.Request{Method: "POST", URL: s.URL, Header: header, Body: []byte("hello"), ID: "r-1"})
	require.Equal(t, resilience.OK, result.Outcome, result.Err)
	assert.Equal(t, "2", got.Get("x-envoy-attempt-count"))
	assert.Equal(t, "259", got.Get("x-envoy-expected-rq-timeout-ms"))
	assert.Equal(t, "r-1", got.Get("x-request-id"))
	assert.Equal(t, "1", got.Get("x-own"))
	assert.Equal(t, "POST hello", body)
	assert.Len(t, header, 1, "the caller's headers are left alone")
}

func TestStatusDecidesTheOutcome(t *testing.T) {
	s, transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		status := map[string]int{"/200": 200, "/302": 302, "/404": 404, "/429": 429, "/503": 503}[r.URL.Path]
		w.WriteHeader(status)
		io.WriteString(w, "body")
	})
	for path, want := range map[string]resilience.Outcome{
		"/200": resilience.OK, "/302": resilience.OK, "/404": resilience.HTTP4xx, "/429": resilience.HTTP429, "/503": resilience.HTTP5xx,
	} {
		result := httpcall.Do(t.Context(), transport, resilience.Attempt{}, httpcall.Request{URL: s.URL + path})
		assert.Equal(t, want, result.Outcome, path)
		assert.Equal(t, "body", string(result.Value.(*httpcall.Response).Body))
		if want == resilience.OK {
			assert.NoError(t, result.Err)
			assert.Zero(t, result.RetryAfter)
		} else {
			assert.Error(t, result.Err)
			assert.Equal(t, 7*time.Second, result.RetryAfter)
		}
	}
}

func TestRefusedConnectionIsConnect(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	result := httpcall.Do(t.Context(), new(http.Transport), resilience.Attempt{}, httpcall.Request{URL: "http://" + l.Addr().String()})
	assert.Equal(t, resilience.Connect, result.Outcome, result.Err)
	assert.Nil(t, result.Value)
}

func TestBrokenConnectionIsReset(t *testing.T) {
	for _, begin := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"} {
		s, transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				io.WriteString(conn, begin)
				conn.Close()
			}
		})
		result := httpcall.Do(t.Context(), transport, resilience.Attempt{}, httpcall.Request{URL: s.URL})
		assert.Equal(t, resilience.Reset, result.Outcome, "%q: %v", begin, result.Err)
	}
}

func TestTimeoutGuardCancelsTheCallOnTheServer(t *testing.T) {
	gone := make(chan struct{})
	s, transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(gone)
	})
	p, err := resilience.New(resilience.Config{Name: "p", Guards: []resilience.Guard{resilience.TimeoutGuard{Limit: 20 * time.Millisecond}}})
	require.NoError(t, err)
	report := p.Do(t.Context(), resilience.Request{Call: func(ctx context.Context, a resilience.Attempt) resilience.Result {
		return httpcall.Do(ctx, transport, a, httpcall.Request{URL: s.URL})
	}})
	assert.Equal(t, resilience.Timeout, report.Outcome)
	<-gone
}

func TestBodiesAreBoundedAndConnectionsUsedAgain(t *testing.T) {
	var dials atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Repeat("x", 100_000))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			dials.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	for range 5 {
		result := httpcall.Do(t.Context(), transport, resilience.Attempt{}, httpcall.Request{URL: s.URL, MaxBody: 10})
		require.Equal(t, resilience.OK, result.Outcome)
		response := result.Value.(*httpcall.Response)
		assert.Equal(t, "xxxxxxxxxx", string(response.Body))
		assert.True(t, response.Truncated)
	}
	assert.EqualValues(t, 1, dials.Load())
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		" 3 ":                           3 * time.Second,
		"-1":                            0,
		"1.5":                           0,
		"soon":                          0,
		"Mon, 30 Nov 2026 12:00:30 GMT": 30 * time.Second,
		"Mon, 30 Nov 2026 11:00:00 GMT": 0,
		"9223372036854775807":           9223372036 * time.Second,
		"99999999999999999999":          0,
	} {
		assert.Equal(t, want, httpcall.RetryAfter(http.Header{"Retry-After": {value}}, now), value)
	}
}

// Once net/http repeated what it could on connections from its pool that
// broke, and nobody counted it.
func TestBrokenConnectionFromThePoolIsNotCalledAgainInSilence(t *testing.T) {
	for _, c := range []struct{ method, body, key string }{
		{"GET", "", ""}, {"HEAD", "", ""}, {"OPTIONS", "", ""}, {"POST", "", ""}, {"PUT", "", ""}, {"GET", "body", ""}, {"PUT", "body", ""},
		{"POST", "", "Idempotency-Key"}, {"POST", "body", "Idempotency-Key"}, {"DELETE", "", "X-Idempotency-Key"},
	} {
		method := c.method + " " + c.body + " " + c.key
		header := http.Header{}
		if c.key != "" {
			header.Set(c.key, "7")
		}
		var broken atomic.Bool
		var received atomic.Int32
		s, transport := serve(t, func(w http.ResponseWriter, r *http.Request) {
			received.Add(1)
			if c.key != "" {
				assert.Equal(t, "7", r.Header.Get(c.key))
			}
			if n, _ := io.Copy(io.Discard, r.Body); n != int64(len(c.body)) || len(r.TransferEncoding) > 0 {
				t.Errorf("%s: a body of %d bytes, %v", method, n, r.TransferEncoding)
			}
			if broken.Load() {
				if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
					conn.Close()
				}
			}
		})
		do := func() resilience.Result {
			return httpcall.Do(t.Context(), transport, resilience.Attempt{}, httpcall.Request{Method: c.method, URL: s.URL, Body: []byte(c.body), Header: header})
		}
		require.Equal(t, resilience.OK, do().Outcome, method)
		broken.Store(true)
		received.Store(0)
		for range 5 {
			assert.Equal(t, resilience.Reset, do().Outcome, method)
		}
		assert.EqualValues(t, 5, received.Load(), method)
	}
}
