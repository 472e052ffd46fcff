package downstream

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
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
// both meet the same machine. ours/bare is the server's calls per second by the bare handler's: 0.8 at
// least.
func BenchmarkThroughput(b *testing.B) {
	const batch = 200
	for name, cfg := range map[string]Config{
		"fixed-delay": fixed(b, 0),
		"overload":    {Scenario: scenario(b, "overload", map[string]any{"service": 0})},
	} {
		b.Run(name, func(b *testing.B) {
			sides := []*wire{newWire(b, listen(b, cfg).URL()), newWire(b, bare(b))}
			ours, yardstick := sides[0], sides[1]
			took := map[*wire]time.Duration{}
			turn := func() {
				for _, w := range sides {
					begin := time.Now()
					for range batch {
						if err := w.call(); err != nil {
							b.Fatal(err)
						}
					}
					took[w] += time.Since(begin)
				}
				slices.Reverse(sides) // who is first changes with every turn
			}
			turn() // both warm up
			clear(took)
			turns := 0
			for b.Loop() {
				turn()
				turns++
			}
			b.ReportMetric(took[yardstick].Seconds()/took[ours].Seconds(), "ours/bare")
			b.ReportMetric(float64(turns*batch)/took[ours].Seconds(), "calls/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// lateness has 1,000 goroutines wait at once, five times each, and returns how much longer than delay it
// took them. The waits begin spread over a delay.
func lateness(delay time.Duration, random *rand.Rand, newWait func() (wait func())) []time.Duration {
	const waiting, each = 1000, 5
	late := make([]time.Duration, waiting*each)
	var waits sync.WaitGroup
	for mine := range slices.Chunk(late, each) {
		wait, offset := newWait(), time.Duration(random.Int64N(int64(delay)))
		waits.Go(func() {
			time.Sleep(offset)
			for i := range mine {
				begin := time.Now()
				wait()
				mine[i] = time.Since(begin) - delay
			}
		})
	}
	waits.Wait()
	return late
}

// BenchmarkDelayAccuracy keeps 1,000 calls waiting and reports how much longer than asked they took: the
// 99th percentile is 2 ms at most on an idle machine of two cores. The calls are made to the handler
// itself, so that what is late is its timer, its books, and the wake-up of its goroutine, and no client's.
// What is late of as many bare sleeps, in turns with the calls, is the machine's part: on a machine that is
// not idle it is most of it.
func BenchmarkDelayAccuracy(b *testing.B) {
	const delay = 200 * ms
	s := newServer(b, fixed(b, delay))
	random := rand.New(rand.NewPCG(1, 0))
	var calls, sleeps []time.Duration
	for b.Loop() {
		calls = append(calls, lateness(delay, random, func() func() {
			r, w := httptest.NewRequest(http.MethodGet, "/call", nil), httptest.NewRecorder()
			return func() { s.ServeHTTP(w, r) }
		})...)
		sleeps = append(sleeps, lateness(delay, random, func() func() {
			return func() { time.Sleep(delay) }
		})...)
	}
	at := func(sorted []time.Duration, p float64) float64 {
		return float64(sorted[int(p*float64(len(sorted)-1))]) / float64(ms)
	}
	slices.Sort(calls)
	slices.Sort(sleeps)
	b.ReportMetric(at(calls, 0.5), "p50-late-ms")
	b.ReportMetric(at(calls, 0.99), "p99-late-ms")
	b.ReportMetric(at(calls, 1), "max-late-ms")
	b.ReportMetric(at(sleeps, 0.99), "p99-sleep-late-ms")
	b.ReportMetric(0, "ns/op")
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
