package downstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/downstream/stats"
)

// patient bounds what a test waits for; only a broken test gets there.
const patient = 20 * time.Second

func listen(t testing.TB, cfg Config) *Listener {
	t.Helper()
	l, err := Listen("", cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = l.Close(ended)
	})
	return l
}

// client returns a client with connections of its own.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patient}
}

// get reads an answer to its end.
func get(c *http.Client, url string) (int, answerBody, error) {
	resp, err := c.Get(url)
	if err != nil {
		return 0, answerBody{}, err
	}
	defer resp.Body.Close()
	var a answerBody
	b, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	return resp.StatusCode, a, err
}

// until waits for the counters to meet a condition for which there is no event.
func until(t *testing.T, s *Server, met func(stats.Snapshot) bool) stats.Snapshot {
	t.Helper()
	var got stats.Snapshot
	require.Eventually(t, func() bool {
		got = s.Stats()
		return met(got)
	}, patient, time.Millisecond)
	return got
}

func inflight(n int) func(stats.Snapshot) bool {
	return func(s stats.Snapshot) bool { return s.Inflight == n }
}

func TestCallsOverHTTP(t *testing.T) {
	l := listen(t, Config{Scenario: scenario(t, "random-failures", map[string]any{"delay": "1ms"}), Seed: 1})
	c := client(t)
	var bad []uint64
	for n := uint64(1); n <= 40; n++ {
		status, a, err := get(c, l.URL()+"/call")
		require.NoError(t, err)
		require.Equal(t, n, a.Call)
		if status != http.StatusOK {
			require.Equal(t, http.StatusServiceUnavailable, status)
			bad = append(bad, n)
		}
	}
	assert.Equal(t, []uint64{8, 9, 10, 12, 16, 17, 18, 26, 28, 39, 40}, bad)
	got := l.Server().Stats()
	assert.EqualValues(t, 1, got.Dials, "the connection is reused, after failures too")
	assert.EqualValues(t, 29, got.Finished)
	assert.Equal(t, map[string]uint64{"http_5xx": 11}, got.Failed)
	assert.GreaterOrEqual(t, got.BusyMs, 40.0)
}

// A client that has its answer never finds its own call still in flight.
func TestAnsweredCallIsOutOfFlight(t *testing.T) {
	l := listen(t, fixed(t, 0))
	c := client(t)
	for range 500 {
		_, _, err := get(c, l.URL()+"/call")
		require.NoError(t, err)
		got := l.Server().Stats()
		require.Equal(t, 0, got.Inflight)
		require.Equal(t, got.Received, got.Finished)
	}
	assert.Equal(t, 1, l.Server().Stats().MaxInflight)
}

func TestDialsAreCounted(t *testing.T) {
	l := listen(t, fixed(t, 0))
	for range 3 {
		_, _, err := get(client(t), l.URL()+"/call")
		require.NoError(t, err)
	}
	assert.EqualValues(t, 3, l.Server().Stats().Dials)
	l.Server().Reset()
	assert.EqualValues(t, 0, l.Server().Stats().Dials)
}

func TestGoneClientIsNoticed(t *testing.T) {
	for _, body := range []string{"", "a body, without whose end nobody looks"} {
		t.Run("body "+body, func(t *testing.T) {
			cfg := fixed(t, time.Hour)
			cfg.Cancellation = MidWork
			l := listen(t, cfg)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL()+"/call", strings.NewReader(body))
			require.NoError(t, err)
			r.Header.Set(HeaderPatience, "1") // it has run out by the time the client leaves
			failed := make(chan error, 1)
			c := client(t)
			go func() {
				resp, err := c.Do(r)
				if err == nil {
					resp.Body.Close()
				}
				failed <- err
			}()
			until(t, l.Server(), func(s stats.Snapshot) bool { return s.ResidualMs > 0 })
			cancel()
			assert.ErrorIs(t, <-failed, context.Canceled)
			got := until(t, l.Server(), inflight(0))
			assert.EqualValues(t, 1, got.Abandoned)
			assert.EqualValues(t, 1, got.NoticeCount)
			assert.Greater(t, got.NoticeMaxMs, 0.0)
			assert.Equal(t, got.NoticeMaxMs, got.NoticeMeanMs)
			assert.EqualValues(t, 1, got.LingerCount)
		})
	}
}

func TestGoneClientIsIgnoredToTheEnd(t *testing.T) {
	l := listen(t, fixed(t, 150*ms))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL()+"/call", nil)
	require.NoError(t, err)
	failed := make(chan error, 1)
	c := client(t)
	go func() {
		resp, err := c.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	until(t, l.Server(), func(s stats.Snapshot) bool { return s.Started == 1 })
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	got := until(t, l.Server(), inflight(0))
	assert.EqualValues(t, 1, got.Abandoned)
	assert.GreaterOrEqual(t, got.BusyMs, 150.0)
	assert.Greater(t, got.ResidualMs, 0.0)
	assert.Less(t, got.ResidualMs, got.BusyMs)
}

func TestTooLongBodyOverHTTP(t *testing.T) {
	l := listen(t, fixed(t, 0))
	c := client(t)
	resp, err := c.Post(l.URL()+"/call", "", strings.NewReader(strings.Repeat("x", MaxBody+1)))
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
	assert.Equal(t, map[string]uint64{"http_4xx": 1}, l.Server().Stats().Failed)
}

func TestConservationOverHTTP(t *testing.T) {
	l := listen(t, Config{Scenario: scenario(t, "random-failures", map[string]any{"delay": "10ms"}), Seed: 9})
	c := client(t)
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for j := range 15 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(5+(i+j)%3*10)*ms)
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL()+"/call", nil)
				assert.NoError(t, err)
				if resp, err := c.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				cancel()
				got := l.Server().Stats()
				assert.Equal(t, got.Received, sum(got))
			}
		})
	}
	callers.Wait()
	got := until(t, l.Server(), inflight(0))
	assert.Equal(t, got.Received, sum(got))
	assert.NotZero(t, got.Abandoned)
}

func TestPortInUse(t *testing.T) {
	l := listen(t, fixed(t, 0))
	addr := strings.TrimPrefix(l.URL(), "http://")
	_, err := Listen(addr, fixed(t, 0))
	require.EqualError(t, err, "listen "+addr+": address already in use")
	assert.ErrorIs(t, err, syscall.EADDRINUSE)
}

func TestAddressesThatAreRefused(t *testing.T) {
	const public = ": not a loopback address (127.0.0.0/8, ::1, localhost) and public access is not allowed"
	for addr, want := range map[string]string{
		"0.0.0.0:0":       "listen 0.0.0.0:0" + public,
		":0":              "listen :0" + public,
		"[::]:0":          "listen [::]:0" + public,
		"192.0.2.1:0":     "listen 192.0.2.1:0" + public,
		"127.0.0.1":       "listen 127.0.0.1: missing port in address",
		"127.0.0.1:99999": "listen 127.0.0.1:99999: invalid port",
	} {
		_, err := Listen(addr, fixed(t, 0))
		assert.EqualError(t, err, want)
	}
	_, err := Listen("", Config{})
	assert.ErrorContains(t, err, "scenario: none given")
}

func TestPublicAddressOnRequest(t *testing.T) {
	cfg := fixed(t, 0)
	cfg.Public = true
	l, err := Listen("0.0.0.0:0", cfg)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(l.URL(), "http://127.0.0.1:"), "%s can be called from here", l.URL())
	status, _, err := get(client(t), l.URL()+"/call")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	require.NoError(t, l.Close(t.Context()))
}

func TestLocalhostIsLoopback(t *testing.T) {
	l, err := Listen("localhost:0", fixed(t, 0))
	require.NoError(t, err)
	require.NoError(t, l.Close(t.Context()))
}

func TestCloseDrains(t *testing.T) {
	l := listen(t, fixed(t, 150*ms))
	c := client(t)
	type result struct {
		status int
		err    error
	}
	answered := make(chan result, 1)
	go func() {
		status, _, err := get(c, l.URL()+"/call")
		answered <- result{status, err}
	}()
	until(t, l.Server(), inflight(1))
	require.NoError(t, l.Close(t.Context()))
	assert.Equal(t, result{http.StatusOK, nil}, <-answered)
	got := l.Server().Stats()
	assert.EqualValues(t, 1, got.Finished)

	_, _, err := get(c, l.URL()+"/call")
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.NoError(t, l.Close(t.Context()), "closing again is harmless")
}

func TestCloseWaitsForIgnoredWork(t *testing.T) {
	l := listen(t, fixed(t, 150*ms))
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "http://"))
	require.NoError(t, err)
	_, err = io.WriteString(conn, "GET /call HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	until(t, l.Server(), inflight(1))
	require.NoError(t, conn.Close())
	require.NoError(t, l.Close(t.Context()))
	got := l.Server().Stats()
	assert.EqualValues(t, 1, got.Abandoned)
	assert.GreaterOrEqual(t, got.BusyMs, 150.0)
}

func TestCloseCutsWorkWhenItsTimeIsUp(t *testing.T) {
	for c := Ignore; c <= MidWork; c++ {
		t.Run(c.String(), func(t *testing.T) {
			cfg := fixed(t, time.Hour)
			cfg.Cancellation = c
			l := listen(t, cfg)
			cut := make(chan error, 1)
			httpClient := client(t)
			go func() {
				_, _, err := get(httpClient, l.URL()+"/call")
				cut <- err
			}()
			until(t, l.Server(), inflight(1))
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("enough")
			cancel(cause)
			err := l.Close(ctx)
			assert.ErrorIs(t, err, cause)
			assert.ErrorContains(t, err, ": calls in flight that were cut: 1: enough")
			assert.ErrorIs(t, <-cut, io.EOF, "no answer is made up")
			got := l.Server().Stats()
			assert.Equal(t, 0, got.Inflight)
			assert.Equal(t, map[string]uint64{"server_closed": 1}, got.Failed)
		})
	}
}

// lateHook keeps the handler of a cut call busy until Close has returned, or else for a while.
type lateHook struct {
	closed chan struct{}
	early  chan bool
}

func (h lateHook) Levels() []logrus.Level { return []logrus.Level{logrus.DebugLevel} }

func (h lateHook) Fire(e *logrus.Entry) error {
	if e.Message != "call ended" {
		return nil
	}
	select {
	case <-h.closed:
		h.early <- true
	case <-time.After(100 * ms):
		h.early <- false
	}
	return nil
}

func TestCloseLeavesNoHandlerRunning(t *testing.T) {
	hook := lateHook{make(chan struct{}), make(chan bool, 1)}
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.SetLevel(logrus.DebugLevel)
	log.AddHook(hook)
	cfg := fixed(t, time.Hour)
	cfg.Logger = log
	l := listen(t, cfg)
	cut := make(chan struct{})
	c := client(t)
	go func() {
		defer close(cut)
		_, _, _ = get(c, l.URL()+"/call")
	}()
	until(t, l.Server(), inflight(1))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, l.Close(ended), context.Canceled)
	close(hook.closed)
	assert.False(t, <-hook.early, "Close returned while a handler was running")
	<-cut
}

// A connection that a client dialled in reserve must not hold up the end of a run.
func TestCloseDoesNotWaitForSilentConnections(t *testing.T) {
	l := listen(t, fixed(t, 0))
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "http://"))
	require.NoError(t, err)
	defer conn.Close()
	until(t, l.Server(), func(s stats.Snapshot) bool { return s.Dials == 1 })
	start := time.Now()
	require.NoError(t, l.Close(t.Context()))
	assert.Less(t, time.Since(start), 3*time.Second, "net/http alone waits for more than five seconds")
}
