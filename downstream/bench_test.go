package downstream

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wire is a client that costs as little as possible: one connection and one request, sent again and again.
type wire struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
}

func newWire(b *testing.B, url string) *wire {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	return &wire{conn, bufio.NewReader(conn), []byte("GET /call HTTP/1.1\r\nHost: x\r\nX-Request-Id: 0190b2c4-7f5e-7cc3-98c4-dc0c0c07398f\r\n" +
		"X-Envoy-Attempt-Count: 1\r\nX-Envoy-Expected-Rq-Timeout-Ms: 260\r\n\r\n")}
}

func (w *wire) call() error {
	if _, err := w.conn.Write(w.request); err != nil {
		return err
	}
	length := 0
	for {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			break
		}
		if value, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	_, err := w.in.Discard(length)
	return err
}

// bare serves the same answer and nothing else.
func bare(b *testing.B) (url string) {
	ln, err := net.Listen("tcp", DefaultAddr)
	require.NoError(b, err)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 1, http.StatusOK, 0)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(ln)
	}()
	b.Cleanup(func() {
		_ = srv.Close()
		<-served
	})
	return "http://" + ln.Addr().String()
}

// BenchmarkThroughput compares the server with a handler of net/http that does nothing, in turns, so that
// both meet the same machine. ratio is the server's calls per second by the bare handler's: 0.8 at least.
func BenchmarkThroughput(b *testing.B) {
	const batch = 200
	for name, cfg := range map[string]Config{
		"fixed-delay": fixed(b, 0),
		"overload":    {Scenario: scenario(b, "overload", map[string]any{"service": 0})},
	} {
		b.Run(name, func(b *testing.B) {
			ours, yardstick := newWire(b, listen(b, cfg).URL()), newWire(b, bare(b))
			took := map[*wire]time.Duration{}
			run := func(w *wire) {
				begin := time.Now()
				for range batch {
					if err := w.call(); err != nil {
						b.Fatal(err)
					}
				}
				took[w] += time.Since(begin)
			}
			run(ours) // both warm up
			run(yardstick)
			clear(took)
			calls := 0
			for b.Loop() {
				run(ours)
				run(yardstick)
				calls += batch
			}
			b.ReportMetric(took[yardstick].Seconds()/took[ours].Seconds(), "ratio")
			b.ReportMetric(float64(calls)/took[ours].Seconds(), "calls/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkDelayAccuracy keeps 1,000 calls waiting and reports how much longer than asked they took: the
// 99th percentile is 2 ms at most on an idle machine of two cores.
func BenchmarkDelayAccuracy(b *testing.B) {
	const waiting, delay = 1000, 200 * ms
	s := newServer(b, fixed(b, delay))
	random := rand.New(rand.NewPCG(1, 0))
	for b.Loop() {
		var mu sync.Mutex
		var late []time.Duration
		var callers sync.WaitGroup
		for range waiting {
			offset := time.Duration(random.Int64N(int64(delay)))
			callers.Go(func() {
				r, w := httptest.NewRequest(http.MethodGet, "/call", nil), httptest.NewRecorder()
				var mine [5]time.Duration
				time.Sleep(offset) // arrivals are spread over a delay, not measured by it
				for i := range mine {
					begin := time.Now()
					s.ServeHTTP(w, r)
					mine[i] = time.Since(begin) - delay
				}
				mu.Lock()
				late = append(late, mine[:]...)
				mu.Unlock()
			})
		}
		callers.Wait()
		slices.Sort(late)
		at := func(p float64) float64 { return float64(late[int(p*float64(len(late)-1))]) / float64(ms) }
		b.ReportMetric(at(0.5), "p50-late-ms")
		b.ReportMetric(at(0.99), "p99-late-ms")
		b.ReportMetric(at(1), "max-late-ms")
	}
}

const idle = 10_000

// BenchmarkIdleConnections holds [idle] connections that say nothing beside calls that are made. It needs
// as many file descriptors for each side, and is skipped where there are fewer.
func BenchmarkIdleConnections(b *testing.B) {
	l := listen(b, fixed(b, 0))
	before := memory()
	for range idle {
		conn, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "http://"))
		if err != nil {
			b.Skip(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
	}
	w := newWire(b, l.URL())
	for b.Loop() {
		if err := w.call(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(memory()-before)/idle, "B/connection") // of both sides
}

func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// BenchmarkServer is one call through net/http's own client.
func BenchmarkServer(b *testing.B) {
	url, c := listen(b, fixed(b, 0)).URL()+"/call", client(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := c.Get(url)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}
