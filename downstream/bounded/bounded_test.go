package bounded_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/retrylab/retrylab/downstream/bounded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// pipes is a listener whose connections are in memory, so that their time may be a bubble's.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// serve serves h in a bubble, which it ends with a Shutdown if the test has not.
func serve(t *testing.T, h http.HandlerFunc) (*bounded.Server, *pipes) {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := bounded.New(&http.Server{Handler: h})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		assert.NoError(t, s.Shutdown(context.Background()))
		assert.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return s, l
}

// read answers with what was wrong with the body, or waits and says whether the client is still there.
func read(limit int64, work time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if status, err := bounded.ReadBody(io.Discard, w, r, limit); err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		select {
		case <-time.After(work):
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "gone: ", r.Context().Err())
	}
}

// answer is what came, and whether the server ended the connection after it.
type answer struct {
	status int
	body   string
	close  bool
}

func readAnswer(t *testing.T, c io.Reader) answer {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answer{resp.StatusCode, strings.TrimSpace(string(body)), resp.Close}
}

const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"

func TestStalledBodyIsAnsweredWith408(t *testing.T) {
	for name, request := range map[string]string{
		"announced": post + "ab",
		"chunked":   "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, l := serve(t, read(100, 0))
				c := l.dial()
				defer c.Close()
				began := time.Now()
				_, err := io.WriteString(c, request)
				require.NoError(t, err)
				assert.Equal(t, answer{408, "body has not come to its end within 10s", true}, readAnswer(t, c))
				assert.Equal(t, bounded.BodyTimeout, time.Since(began))
			})
		})
	}
}

// A body that drips has no more time than one that stalls.
func TestDrippingBodyIsAnsweredWith408(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := serve(t, read(100, 0))
		c := l.dial()
		var sender sync.WaitGroup
		sender.Go(func() {
			_, err := io.WriteString(c, strings.Replace(post, "5", "50", 1))
			for ; err == nil; _, err = io.WriteString(c, "x") {
				time.Sleep(time.Second)
			}
		})
		assert.Equal(t, answer{408, "body has not come to its end within 10s", true}, readAnswer(t, c))
		require.NoError(t, c.Close())
		sender.Wait()
	})
}

// The time for a body is not that of the answer, nor of the next request.
func TestBoundsOnABodyAreOverWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := serve(t, read(100, time.Minute))
		c := l.dial()
		defer c.Close()
		for range 2 {
			_, err := io.WriteString(c, post+"abcde")
			require.NoError(t, err)
			assert.Equal(t, answer{200, "gone: <nil>", false}, readAnswer(t, c))
		}
	})
}

func TestWholeBodyLetsTheHandlerSeeItsClientLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		_, l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, err := bounded.ReadBody(io.Discard, w, r, 100)
			assert.NoError(t, err)
			<-r.Context().Done()
			ended <- r.Context().Err()
		})
		c := l.dial()
		_, err := io.WriteString(c, post+"abcde")
		require.NoError(t, err)
		require.NoError(t, c.Close())
		assert.ErrorIs(t, <-ended, context.Canceled)
	})
}

// A body that is too long and then stalls does not keep its connection either.
func TestLongBodyIsAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l := serve(t, read(4, 0))
		c := l.dial()
		defer c.Close()
		began := time.Now()
		_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n")
		require.NoError(t, err)
		in := bufio.NewReader(c)
		assert.Equal(t, answer{413, "body is longer than 4 bytes", true}, readAnswer(t, in))
		_, err = in.ReadByte()
		assert.ErrorIs(t, err, io.EOF)
		assert.Less(t, time.Since(began), time.Second)
	})
}

func TestClientThatLeavesInItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type result struct {
			status int
			err    error
		}
		got := make(chan result, 1)
		_, l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			status, err := bounded.ReadBody(io.Discard, w, r, 100)
			got <- result{status, err}
		})
		c := l.dial()
		_, err := io.WriteString(c, post+"ab")
		require.NoError(t, err)
		require.NoError(t, c.Close())
		r := <-got
		assert.Equal(t, http.StatusBadRequest, r.status)
		assert.ErrorIs(t, r.err, io.ErrUnexpectedEOF)
	})
}

// The end waits for the request in progress, whose body is there, and neither for the connection that is
// silent, nor for the half of a header, nor for the half of a body.
func TestShutdownWaitsForRequestsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := serve(t, read(100, 1500*ms))
		busy, stalled, silent, half := l.dial(), l.dial(), l.dial(), l.dial()
		for c, sent := range map[net.Conn]string{busy: post + "abcde", stalled: post + "ab", half: "GET / HT"} {
			_, err := io.WriteString(c, sent)
			require.NoError(t, err)
		}
		synctest.Wait()
		began := time.Now()
		type end struct {
			what  string
			after time.Duration
		}
		ends := make(chan end, 5)
		go func() {
			assert.NoError(t, s.Shutdown(context.Background()))
			ends <- end{what: "all"}
		}()
		for name, c := range map[string]net.Conn{"silent": silent, "half": half} {
			go func() {
				_, err := io.Copy(io.Discard, c)
				assert.NoError(t, err)
				ends <- end{name, time.Since(began)}
			}()
		}
		go func() {
			assert.Equal(t, answer{408, "body has not come to its end within 1s", true}, readAnswer(t, stalled))
			ends <- end{"stalled", time.Since(began)}
		}()
		go func() {
			assert.Equal(t, answer{200, "gone: <nil>", true}, readAnswer(t, busy))
			ends <- end{"busy", time.Since(began)}
		}()
		got := make(map[string]time.Duration)
		for range cap(ends) {
			e := <-ends
			got[e.what] = e.after
		}
		assert.Equal(t, map[string]time.Duration{
			"silent": 100 * ms, "half": 100 * ms, "stalled": time.Second, "busy": 1500 * ms, "all": 0,
		}, got)
		assert.Less(t, time.Since(began), 2100*ms, "net/http looks every half a second at the most")
		for _, c := range []net.Conn{busy, stalled, silent, half} {
			_ = c.Close()
		}
	})
}

// A body that still comes during the shutdown is waited for.
func TestShutdownLetsABodyComeToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := serve(t, read(100, 5*time.Second))
		c := l.dial()
		defer c.Close()
		_, err := io.WriteString(c, post+"ab")
		require.NoError(t, err)
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- s.Shutdown(context.Background()) }()
		time.Sleep(900 * ms)
		_, err = io.WriteString(c, "cde")
		require.NoError(t, err)
		assert.Equal(t, answer{200, "gone: <nil>", true}, readAnswer(t, c))
		assert.NoError(t, <-ended)
	})
}

func TestHooksOfTheServerAreCalledToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		states, of := make(chan http.ConnState, 3), make(chan any, 1)
		server := bounded.New(&http.Server{
			Handler:     http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { of <- r.Context().Value(key{}) }),
			ConnState:   func(_ net.Conn, s http.ConnState) { states <- s },
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return context.WithValue(ctx, key{}, "mine") },
		})
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		go func() { _ = server.Serve(l) }()
		c := l.dial()
		defer c.Close()
		_, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
		require.NoError(t, err)
		assert.Equal(t, 200, readAnswer(t, c).status)
		require.NoError(t, server.Shutdown(context.Background()))
		assert.Equal(t, "mine", <-of)
		for _, want := range []http.ConnState{http.StateNew, http.StateActive, http.StateClosed} {
			assert.Equal(t, want, <-states)
		}
	})
}
