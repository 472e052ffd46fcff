package downstream

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/downstream/bounded"
	"github.com/retrylab/retrylab/downstream/stats"
)

func dial(t testing.TB, l *Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patient)))
	return conn
}

// undisturbed keeps calls in progress while something happens, and fails if one of them is not answered
// well.
func undisturbed(t *testing.T, l *Listener, happens func()) {
	t.Helper()
	c := client(t)
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				status, _, err := get(c, l.URL()+"/call")
				assert.NoError(t, err)
				assert.Equal(t, http.StatusOK, status)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	until(t, l.Server(), func(s stats.Snapshot) bool { return s.Finished >= 4 })
	happens()
	close(stop)
	callers.Wait()
}

func TestHugeBodyIsRefusedInLittleMemory(t *testing.T) {
	const size = 100 << 20
	chunk := make([]byte, 64<<10)
	for name, header := range map[string]string{
		"announced": fmt.Sprintf("Content-Length: %d", size),
		"chunked":   "Transfer-Encoding: chunked",
	} {
		for _, path := range []string{"POST /call", "PUT /scenario"} {
			t.Run(name+" "+path, func(t *testing.T) {
				l := listen(t, fixed(t, 5*ms))
				undisturbed(t, l, func() {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					conn := dial(t, l)
					_, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", path, header)
					require.NoError(t, err)
					sent := 0
					for err == nil && sent < size {
						if name == "chunked" {
							_, err = fmt.Fprintf(conn, "%x\r\n%s\r\n", len(chunk), chunk)
						} else {
							_, err = conn.Write(chunk)
						}
						sent += len(chunk)
					}
					// The server stops reading, so that the client cannot send all of it. Where the answer
					// was not overtaken by the end of the connection, it says why.
					assert.Error(t, err)
					assert.Less(t, sent, size/2)
					if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
						assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
						resp.Body.Close()
					}
					runtime.ReadMemStats(&after)
					// What the client sends is copied by Fprintf, so it is left out.
					assert.Less(t, int64(after.TotalAlloc-before.TotalAlloc), int64(16<<20+4*sent))
				})
				got := l.Server().Stats()
				assert.Equal(t, got.Received, sum(got))
				if path == "POST /call" {
					assert.Equal(t, map[string]uint64{"http_4xx": 1}, got.Failed)
				}
			})
		}
	}
}

func TestIdleConnectionsDisturbNobody(t *testing.T) {
	l := listen(t, fixed(t, 5*ms))
	undisturbed(t, l, func() {
		for i := range 400 {
			conn := dial(t, l)
			if i%2 == 0 { // half of them have made a call, half have said nothing
				_, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
				require.NoError(t, err)
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				require.NoError(t, err)
				resp.Body.Close()
			}
		}
		got := until(t, l.Server(), func(s stats.Snapshot) bool { return s.Dials >= 400 })
		assert.LessOrEqual(t, got.Inflight, 4, "a connection is no call")
	})
	require.NoError(t, l.Close(t.Context()), "and the end does not wait for them")
}

func TestSlowHeadersAreCutOff(t *testing.T) {
	l, err := open("", fixed(t, 5*ms), 100*ms)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close(t.Context())) }()
	undisturbed(t, l, func() {
		var conns []net.Conn
		for range 50 {
			conn := dial(t, l)
			_, err := io.WriteString(conn, "GET /call HTTP/1.1\r\nHost: x\r\nX-Slow: ")
			require.NoError(t, err)
			conns = append(conns, conn)
		}
		for _, conn := range conns {
			_, err := io.ReadAll(conn) // ends when the server closes
			assert.True(t, err == nil || errors.Is(err, syscall.ECONNRESET), "%v", err)
		}
		got := l.Server().Stats()
		assert.Equal(t, got.Received, sum(got))
		assert.LessOrEqual(t, got.Inflight, 4, "no call has come of them")
	})
}

// Once a call whose body stalled was in flight for ever, and every request with such a body held up the
// end.
func TestStalledBodiesHoldUpNothing(t *testing.T) {
	l := listen(t, fixed(t, 1500*ms)) // longer than a body is waited for at the end
	c := client(t)
	answered := make(chan error, 1)
	go func() {
		status, _, err := get(c, l.URL()+"/call")
		assert.Equal(t, http.StatusOK, status)
		answered <- err
	}()
	var stalled []net.Conn
	for _, route := range []string{"POST /call", "PUT /scenario", "GET /stats", "POST /reset", "DELETE /nowhere"} {
		conn := dial(t, l)
		// That the server asks for the body tells that it waits for it.
		_, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n", route)
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusContinue, resp.StatusCode)
		_, err = io.WriteString(conn, "the beginning of a body")
		require.NoError(t, err)
		stalled = append(stalled, conn)
	}
	got := until(t, l.Server(), inflight(2))
	assert.EqualValues(t, 1, got.Started, "a call without its body is not served")
	assert.Equal(t, got.Received, sum(got))

	began := time.Now()
	require.NoError(t, l.Close(t.Context()))
	assert.Less(t, time.Since(began), patient/2)
	for _, conn := range stalled {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		assert.Equal(t, http.StatusRequestTimeout, resp.StatusCode)
		var told struct{ Error string }
		assert.NoError(t, json.NewDecoder(resp.Body).Decode(&told))
		assert.Regexp(t, `^body has not come to its end within [\d.]+s$`, told.Error)
		resp.Body.Close()
	}
	assert.NoError(t, <-answered, "the call in progress is not disturbed")
	got = l.Server().Stats()
	assert.EqualValues(t, 1, got.Finished)
	assert.Equal(t, map[string]uint64{"http_4xx": 1}, got.Failed)
	assert.Equal(t, got.Received, sum(got))
	assert.Zero(t, got.Inflight)
}

func TestHugeHeadersAreRefused(t *testing.T) {
	l := listen(t, fixed(t, 0))
	conn := dial(t, l)
	_, err := fmt.Fprintf(conn, "GET /call HTTP/1.1\r\nHost: x\r\nX-Request-Id: %s\r\n\r\n", strings.Repeat("x", 2*bounded.MaxHeaderBytes))
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode)
	assert.Zero(t, l.Server().Stats().Received)
}

func TestNonsenseOnTheWire(t *testing.T) {
	l := listen(t, fixed(t, 5*ms))
	undisturbed(t, l, func() {
		for _, text := range []string{
			"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "GET /call\r\n\r\n", "\r\n\r\n\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
			"POST /call HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "POST /call HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
			"PUT /scenario HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"a\": [[[", "PUT /reset HTTP/1.1\r\nHost: x\r\n\r\n",
		} {
			conn := dial(t, l)
			_, err := io.WriteString(conn, text)
			require.NoError(t, err)
			require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			answer, err := io.ReadAll(conn)
			require.NoError(t, err, "%q", text)
			if len(answer) > 0 {
				assert.Regexp(t, `^HTTP/1.1 (4\d\d|505) `, string(answer), "%q", text)
			}
		}
	})
	got := until(t, l.Server(), inflight(0))
	assert.Equal(t, got.Received, sum(got))
}

// What queues and what is being served goes on as it began while the scenario is changed and reset.
func TestAdminRoutesDisturbNoCall(t *testing.T) {
	cfg := constant(t, map[string]any{"servers": 2, "queue": 100})
	cfg.Token = "secret"
	l := listen(t, cfg)
	undisturbed(t, l, func() {
		for i := range 50 {
			for _, r := range []struct {
				method, path, body, token string
				want                      int
			}{
				{"PUT", "/scenario", `{"scenario":"fixed-delay","params":{"delay":1}}`, "secret", 200},
				{"PUT", "/scenario", `{"scenario":"overload"}`, "", 401},
				{"PUT", "/scenario", `{"scenario":`, "secret", 400},
				{"POST", "/reset", "", "secret", 200},
				{"POST", "/reset", "", "secre", 401},
				{"PUT", "/scenario", `{"scenario":"overload","params":{"servers":2}}`, "secret", 200},
				{"DELETE", "/scenario", "", "secret", 405},
			} {
				w := admin(l.Server(), r.method, r.path, r.body, "Authorization", "Bearer "+r.token)
				assert.Equal(t, r.want, w.Code, "%s %s %s, round %d", r.method, r.path, r.body, i)
			}
		}
	})
	got := until(t, l.Server(), inflight(0))
	assert.Equal(t, got.Received, sum(got))
}

func TestDuplicateWorkOfAttempts(t *testing.T) {
	l := listen(t, Config{Scenario: scenario(t, "latency-tail-spike", map[string]any{"delay": "1ms", "spike": "100ms", "every": 2})})
	c := client(t)
	attempt := func(id string) {
		r, err := http.NewRequest(http.MethodGet, l.URL()+"/call", nil)
		assert.NoError(t, err)
		r.Header.Set(HeaderRequestID, id)
		resp, err := c.Do(r)
		if assert.NoError(t, err) {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	attempt("other")
	var callers sync.WaitGroup
	callers.Go(func() { attempt("r") }) // the second call is the slow one
	until(t, l.Server(), inflight(1))
	attempt("r")
	callers.Wait()
	got := l.Server().Stats()
	assert.Greater(t, got.DuplicateMs, 0.0)
	assert.Less(t, got.DuplicateMs, got.BusyMs-2)
	assert.Zero(t, got.ResidualMs)
	assert.InDelta(t, got.DuplicateMs/got.BusyMs, got.WastedShare, 1e-9)
}
