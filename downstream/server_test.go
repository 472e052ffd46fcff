package downstream

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/retrylab/retrylab/downstream/faults"
	"github.com/retrylab/retrylab/downstream/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

const allNames = "fixed-delay, random-failures, progressive-degradation, latency-tail-spike, outage, brownout, overload, " +
	"rate-limited, bursty, gray, cold-cache, slow-body, partial-body, payments"

func scenario(t testing.TB, name string, params map[string]any) Scenario {
	t.Helper()
	sc, err := ParseScenario(name, params)
	require.NoError(t, err)
	return sc
}

func fixed(t testing.TB, delay time.Duration) Config {
	return Config{Scenario: scenario(t, "fixed-delay", map[string]any{"delay": delay})}
}

func newServer(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := New(cfg)
	require.NoError(t, err)
	return s
}

// answerBody is the answer of /call.
type answerBody struct {
	Call uint64 `json:"call"`
	OK   bool   `json:"ok"`
}

// call makes one call and returns its status and answer.
func call(t testing.TB, s *Server, ctx context.Context, header map[string]string) (int, answerBody) {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/call", nil)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var a answerBody
	if w.Body.Len() > 0 {
		assert.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
	}
	return w.Code, a
}

// sum is what received must equal.
func sum(s stats.Snapshot) uint64 {
	n := s.Finished + s.Abandoned + uint64(s.Inflight)
	for _, f := range s.Failed {
		n += f
	}
	return n
}

func TestScenariosTakeTheirDelays(t *testing.T) {
	tests := []struct {
		scenario string
		params   map[string]any
		want     []time.Duration
	}{
		{"fixed-delay", nil, []time.Duration{220 * ms, 220 * ms}},
		{"fixed-delay", map[string]any{"delay": 0}, []time.Duration{0, 0}},
		{"random-failures", nil, []time.Duration{120 * ms, 120 * ms}},
		{"progressive-degradation", nil, []time.Duration{83 * ms, 86 * ms, 89 * ms}},
		{"progressive-degradation", map[string]any{"step": "500ms"}, []time.Duration{580 * ms, 900 * ms, 900 * ms}},
		{"latency-tail-spike", nil, []time.Duration{90 * ms, 90 * ms, 90 * ms, 90 * ms, 90 * ms, 650 * ms, 90 * ms}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.scenario, tt.params), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, Config{Scenario: scenario(t, tt.scenario, tt.params), Seed: 1})
				var busy time.Duration
				for i, want := range tt.want {
					start := time.Now()
					_, a := call(t, s, t.Context(), nil)
					assert.Equal(t, want, time.Since(start), "call %d", i+1)
					assert.EqualValues(t, i+1, a.Call)
					busy += want
				}
				got := s.Stats()
				assert.EqualValues(t, len(tt.want), got.Started)
				assert.Equal(t, float64(busy)/1e6, got.BusyMs)
				assert.Equal(t, got.BusyMs, got.UptimeMs)
				assert.Zero(t, got.ResidualMs)
				assert.Equal(t, 1, got.MaxInflight)
			})
		})
	}
}

// fates calls n times, that many at once, and returns which calls went well.
func fates(t *testing.T, s *Server, n, atOnce int) map[uint64]bool {
	return fatesOf(t, s, n, atOnce, func(int) map[string]string { return nil })
}

// fatesOf is fates of calls with headers.
func fatesOf(t *testing.T, s *Server, n, atOnce int, headers func(i int) map[string]string) map[uint64]bool {
	var mu sync.Mutex
	got := make(map[uint64]bool)
	var callers sync.WaitGroup
	for range atOnce {
		callers.Go(func() {
			for i := range n / atOnce {
				status, a := call(t, s, t.Context(), headers(i))
				assert.Equal(t, a.OK, status == http.StatusOK)
				assert.Equal(t, !a.OK, status == http.StatusServiceUnavailable)
				mu.Lock()
				got[a.Call] = a.OK
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	return got
}

func TestSameSeedSameFatesWhateverTheInterleaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Scenario: scenario(t, "random-failures", nil), Seed: 42}
		one := newServer(t, cfg)
		alone := fates(t, one, 200, 1)
		require.Len(t, alone, 200)
		assert.Equal(t, alone, fates(t, newServer(t, cfg), 200, 50))

		retrying := func(i int) map[string]string { // three attempts a request
			return map[string]string{"X-Envoy-Attempt-Count": strconv.Itoa(i%3 + 1), "X-Request-Id": strconv.Itoa(i / 3), "X-Envoy-Expected-Rq-Timeout-Ms": "50"}
		}
		assert.Equal(t, alone, fatesOf(t, newServer(t, cfg), 200, 1, retrying), "another policy meets the same fates")

		one.Reset()
		assert.Equal(t, alone, fates(t, one, 200, 10), "a reset starts again at the first fate")

		cfg.Seed = 43
		assert.NotEqual(t, alone, fates(t, newServer(t, cfg), 200, 1))

		bad := 0
		for ok := range maps.Values(alone) {
			if !ok {
				bad++
			}
		}
		got := one.Stats()
		assert.Equal(t, map[string]uint64{"http_5xx": uint64(bad)}, got.Failed)
		assert.EqualValues(t, 200-bad, got.Finished)
		assert.Equal(t, "random-failures", got.Scenario)
		assert.EqualValues(t, 42, got.Seed)
	})
}

func TestRetriesAreCounted(t *testing.T) {
	s := newServer(t, fixed(t, 0))
	for _, attempt := range []string{"1", "2", "3", "", "x", "0"} {
		call(t, s, t.Context(), map[string]string{"x-envoy-attempt-count": attempt})
	}
	assert.EqualValues(t, 2, s.Stats().Retries)
}

// Under ignore a caller that lets two calls out at a time still puts four on the server: the other two
// have outlived their caller.
func TestOverdueCallsExplainTheMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fixed(t, 250*ms))
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				for range 3 {
					ctx, cancel := context.WithTimeout(t.Context(), 150*ms)
					go call(t, s, ctx, map[string]string{"x-envoy-expected-rq-timeout-ms": "150"})
					<-ctx.Done()
					cancel()
				}
			})
		}
		callers.Wait()
		synctest.Wait()
		got := s.Stats()
		assert.Equal(t, 4, got.MaxInflight)
		assert.Equal(t, 2, got.MaxInflightOverdue)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.EqualValues(t, 6, s.Stats().Abandoned)
	})
}

func TestResetWithCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fixed(t, 100*ms))
		var callers sync.WaitGroup
		start := func() { callers.Go(func() { call(t, s, t.Context(), nil) }) }
		for range 5 {
			start()
		}
		time.Sleep(50 * ms)
		synctest.Wait()
		require.Equal(t, 5, s.Stats().Inflight)

		s.Reset()
		assert.Equal(t, stats.Snapshot{
			Scenario: "fixed-delay", UptimeMs: 50, Failed: map[string]uint64{}, Series: []stats.Second{{}},
		}, s.Stats())
		start()
		synctest.Wait()
		time.Sleep(60 * ms) // the five have ended, the one has not
		synctest.Wait()
		got := s.Stats()
		assert.EqualValues(t, 1, got.Received)
		assert.Equal(t, 1, got.Inflight)
		assert.Equal(t, 1, got.MaxInflight)
		assert.EqualValues(t, 0, got.Finished)

		callers.Wait()
		got = s.Stats()
		assert.EqualValues(t, 1, got.Finished)
		assert.Equal(t, 0, got.Inflight)
		assert.EqualValues(t, 100, got.BusyMs)
	})
}

func TestConservationUnderConcurrentCancels(t *testing.T) {
	for c := Ignore; c <= MidWork; c++ {
		t.Run(c.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, Config{Scenario: scenario(t, "random-failures", nil), Seed: 5, Cancellation: c})
				const clients, calls = 40, 20
				var callers sync.WaitGroup
				for i := range clients {
					callers.Go(func() {
						for j := range calls {
							// From well before to well after the 120 ms that the server takes, and exactly then.
							ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i*calls+j)%25)*10*ms)
							call(t, s, ctx, nil)
							cancel()
						}
					})
				}
				done := make(chan struct{})
				go func() {
					callers.Wait()
					close(done)
				}()
				tick := time.NewTicker(7 * ms)
				defer tick.Stop()
				for open := true; open; {
					select {
					case <-done:
						open = false
					case <-tick.C:
					}
					got := s.Stats()
					require.Equal(t, got.Received, sum(got))
					require.LessOrEqual(t, got.Inflight, clients)
					require.LessOrEqual(t, got.ResidualMs, got.BusyMs)
				}
				got := s.Stats()
				assert.EqualValues(t, clients*calls, got.Received)
				assert.Zero(t, got.Inflight)
				assert.NotZero(t, got.Abandoned)
				assert.NotZero(t, got.Finished)
				assert.NotZero(t, got.Failed["http_5xx"])
				if c == MidWork {
					assert.Zero(t, got.ResidualMs)
				} else {
					assert.NotZero(t, got.ResidualMs)
				}
			})
		})
	}
}

// peeking looks at the counters when the first byte of an answer is written.
type peeking struct {
	*httptest.ResponseRecorder
	server *Server
	seen   stats.Snapshot
}

func (p *peeking) WriteHeader(status int) {
	p.seen = p.server.Stats()
	p.ResponseRecorder.WriteHeader(status)
}

func TestCallIsSettledBeforeItsAnswer(t *testing.T) {
	s := newServer(t, fixed(t, 0))
	w := &peeking{httptest.NewRecorder(), s, stats.Snapshot{}}
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/call", nil))
	assert.EqualValues(t, 1, w.seen.Finished)
	assert.Equal(t, 0, w.seen.Inflight)
}

type panicky struct{ faults.FixedDelay }

func (*panicky) Plan(faults.Call) faults.Plan { panic("fault") }

func TestPanicIsAFailure(t *testing.T) {
	s := newServer(t, Config{Scenario: Scenario{fault: new(panicky)}})
	assert.PanicsWithValue(t, "fault", func() { call(t, s, t.Context(), nil) })
	got := s.Stats()
	assert.Equal(t, map[string]uint64{"panic": 1}, got.Failed)
	assert.Equal(t, got.Received, sum(got))
}

func TestNewNamesEveryFault(t *testing.T) {
	_, err := New(Config{Cancellation: 7})
	assert.EqualError(t, err, "scenario: none given; known are "+allNames+"\n"+
		`cancellation "Cancellation(7)" is none of ignore, at-dequeue, mid-work`)
}

func TestCancellationText(t *testing.T) {
	for c, text := range map[Cancellation]string{Ignore: "ignore", AtDequeue: "at-dequeue", MidWork: "mid-work"} {
		got, err := ParseCancellation(text)
		require.NoError(t, err)
		assert.Equal(t, c, got)
		b, err := json.Marshal(c)
		require.NoError(t, err)
		assert.Equal(t, `"`+text+`"`, string(b))
		var back Cancellation
		require.NoError(t, json.Unmarshal(b, &back))
		assert.Equal(t, c, back)
	}
	var zero Cancellation
	assert.Equal(t, Ignore, zero)
	for _, text := range []string{"", "Ignore", "midwork", "Cancellation(7)"} {
		_, err := ParseCancellation(text)
		assert.EqualError(t, err, fmt.Sprintf("cancellation %q is none of ignore, at-dequeue, mid-work", text))
	}
	_, err := Cancellation(-1).MarshalText()
	assert.Error(t, err)
	keep := MidWork
	assert.Error(t, keep.UnmarshalText([]byte("no")))
	assert.Equal(t, MidWork, keep)
}
