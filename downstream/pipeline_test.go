package downstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/downstream/stats"
)

// served is a call that was made in the background: how it ended and when.
type served struct {
	status int
	call   uint64
	after  time.Duration // since begin
}

// volley makes n calls at once, in order, and returns how each ended.
func volley(t *testing.T, s *Server, n int, header map[string]string) []served {
	begin := time.Now()
	got := make([]served, n)
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			status, a := call(t, s, t.Context(), header)
			got[i] = served{status, a.Call, time.Since(begin)}
		})
		synctest.Wait() // it has arrived before the next does
	}
	callers.Wait()
	return got
}

// constant is an overload whose calls take 20 ms.
func constant(t *testing.T, params map[string]any) Config {
	given := map[string]any{"distribution": "constant", "servers": 2, "queue": 3}
	for k, v := range params {
		given[k] = v
	}
	return Config{Scenario: scenario(t, "overload", given)}
}

func TestOverloadQueuesAndTurnsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, constant(t, nil))
		got := volley(t, s, 7, nil)
		assert.Equal(t, []served{
			{200, 1, 20 * ms}, {200, 2, 20 * ms}, {200, 3, 40 * ms}, {200, 4, 40 * ms}, {200, 5, 60 * ms},
			{503, 6, 0}, {503, 7, 0},
		}, got)
		st := s.Stats()
		assert.EqualValues(t, 5, st.Started)
		assert.Equal(t, map[string]uint64{"queue_full": 2}, st.Failed)
		assert.EqualValues(t, 100, st.BusyMs, "waiting is not work")
		assert.Equal(t, st.Received, sum(st))
	})
}

func TestOverloadDisciplines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, constant(t, map[string]any{"servers": 1, "discipline": "lifo"}))
		got := volley(t, s, 4, nil)
		assert.Equal(t, []served{{200, 1, 20 * ms}, {200, 2, 80 * ms}, {200, 3, 60 * ms}, {200, 4, 40 * ms}}, got)

		s = newServer(t, constant(t, map[string]any{"servers": 1, "discipline": "deadline"}))
		got = volley(t, s, 4, map[string]string{HeaderPatience: "50"})
		assert.Equal(t, []served{{200, 1, 20 * ms}, {200, 2, 40 * ms}, {503, 3, 40 * ms}, {503, 4, 40 * ms}}, got)
		assert.Equal(t, map[string]uint64{"shed": 2}, s.Stats().Failed)
	})
}

func TestRejectingCostsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, constant(t, map[string]any{"servers": 1, "queue": 1, "rejectCost": "5ms"}))
		got := volley(t, s, 4, nil)
		assert.Equal(t, []served{{200, 1, 20 * ms}, {200, 2, 50 * ms}, {503, 3, 5 * ms}, {503, 4, 5 * ms}}, got)
	})
}

func TestClientGoneInTheQueue(t *testing.T) {
	tests := []struct {
		cancellation  Cancellation
		wantStarted   uint64
		wantInflight  int // just after the client left, of 3 that came
		wantThird     time.Duration
		wantAbandoned uint64
	}{
		{Ignore, 3, 3, 60 * ms, 1},
		{AtDequeue, 2, 3, 40 * ms, 1},
		{MidWork, 2, 2, 40 * ms, 1},
	}
	for _, tt := range tests {
		t.Run(tt.cancellation.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := constant(t, map[string]any{"servers": 1})
				cfg.Cancellation = tt.cancellation
				s := newServer(t, cfg)
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 10*ms)
				defer cancel()
				var callers sync.WaitGroup
				callers.Go(func() { call(t, s, t.Context(), nil) })
				synctest.Wait()
				callers.Go(func() { call(t, s, ctx, nil) }) // leaves at 10 ms, while it queues
				synctest.Wait()
				third := time.Duration(0)
				callers.Go(func() {
					call(t, s, t.Context(), nil)
					third = time.Since(begin)
				})
				time.Sleep(11 * ms)
				synctest.Wait()
				assert.Equal(t, tt.wantInflight, s.Stats().Inflight)
				callers.Wait()
				assert.Equal(t, tt.wantThird, third, "behind the one that left")
				st := s.Stats()
				assert.Equal(t, tt.wantStarted, st.Started)
				assert.Equal(t, tt.wantAbandoned, st.Abandoned)
				assert.Equal(t, st.Received, sum(st))
				busy, waiting := s.run.Load().regime.base.queue.Load()
				assert.Zero(t, busy+waiting)
			})
		})
	}
}

// The queue's theory holds for the whole server too, goroutines and timers included.
func TestServerIsAnMM8Queue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Scenario: scenario(t, "overload", map[string]any{"servers": 8, "queue": 100_000}), Seed: 11})
		random := rand.New(rand.NewPCG(11, 0))
		var mu sync.Mutex
		var total time.Duration
		const calls = 40_000
		var callers sync.WaitGroup
		for range calls {
			time.Sleep(time.Duration(random.ExpFloat64() * 20 / 6.4 * float64(ms)))
			callers.Go(func() {
				begin := time.Now()
				r := httptest.NewRequest(http.MethodGet, "/call", nil)
				s.ServeHTTP(httptest.NewRecorder(), r)
				mu.Lock()
				total += time.Since(begin)
				mu.Unlock()
			})
		}
		callers.Wait()
		mean := float64(total) / calls / float64(ms)
		t.Logf("seed 11: mean time in system %.2f ms", mean)
		assert.InEpsilon(t, 25.7, mean, 0.05)
		assert.InEpsilon(t, 20*calls, s.Stats().BusyMs, 0.03)
	})
}

func TestQueueSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, constant(t, map[string]any{"servers": 1}))
		g := s.run.Load().regime
		well := g.base.fault
		g.base.fault = new(panicky)
		assert.Panics(t, func() { call(t, s, t.Context(), nil) })
		g.base.fault = well
		assert.Equal(t, []served{{200, 2, 20 * ms}}, volley(t, s, 1, nil), "the server was given back")
	})
}

func TestOutageOfTheBaseScenario(t *testing.T) {
	for mode, want := range map[string]string{"refuse": "refused", "reset": "reset", "503": "http_5xx", "hang": "hung"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, Config{Scenario: scenario(t, "outage", map[string]any{
					"mode": mode, "start": "1s", "duration": "2s", "hang": "10s",
				})})
				try := func() (cut bool) {
					defer func() { cut = recover() == http.ErrAbortHandler }()
					call(t, s, t.Context(), nil)
					return false
				}
				assert.False(t, try())
				time.Sleep(time.Second)
				begin := time.Now()
				assert.Equal(t, mode != "503", try(), "the connection is cut")
				took := map[string]time.Duration{"reset": 50 * ms, "hang": 10 * time.Second}[mode]
				assert.Equal(t, took, time.Since(begin))
				time.Sleep(2 * time.Second)
				assert.False(t, try(), "it is over")
				st := s.Stats()
				assert.Equal(t, map[string]uint64{want: 1}, st.Failed)
				assert.EqualValues(t, 2, st.Finished)
				assert.Equal(t, st.Received, sum(st))
			})
		})
	}
}

func TestStallKeepsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Scenario: scenario(t, "outage", map[string]any{"mode": "stall", "duration": "1s", "servers": 1})})
		got := volley(t, s, 3, nil)
		assert.Equal(t, []served{{200, 1, 1050 * ms}, {200, 2, 1100 * ms}, {200, 3, 1150 * ms}}, got)
		assert.Equal(t, served{200, 4, 50 * ms}, volley(t, s, 1, nil)[0])
		assert.EqualValues(t, 200, s.Stats().BusyMs)
	})
}

func TestRateLimitSaysWhenToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Scenario: scenario(t, "rate-limited", map[string]any{"rate": 0.4, "burst": 1})})
		assert.Equal(t, 200, volley(t, s, 1, nil)[0].status)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/call", nil))
		assert.Equal(t, 429, w.Code)
		assert.Equal(t, "3", w.Header().Get("Retry-After"), "2.45 s, rounded up")
		assert.Equal(t, map[string]uint64{"http_429": 1}, s.Stats().Failed)
		time.Sleep(2500 * ms)
		assert.Equal(t, 200, volley(t, s, 1, nil)[0].status)
		s.Reset()
		assert.Equal(t, 200, volley(t, s, 1, nil)[0].status, "a reset fills the bucket")
	})
}

// Calls whose caller gave up fill no cache, so retries keep it cold.
func TestCacheStaysColdForImpatientCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Scenario: scenario(t, "cold-cache", map[string]any{"keys": 1})})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 300*ms)
			call(t, s, ctx, nil)
			cancel()
		}
		assert.Equal(t, 400*ms, volley(t, s, 1, nil)[0].after, "still a miss")
		assert.Equal(t, 10*ms, volley(t, s, 1, nil)[0].after)
		s.Reset()
		assert.Equal(t, 400*ms, volley(t, s, 1, nil)[0].after, "a reset empties it")
	})
}

func TestEverySeedRepeats(t *testing.T) {
	for _, info := range Scenarios() {
		switch info.Name {
		case "outage", "rate-limited", "cold-cache", "overload", "brownout": // depend on time or load
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := Config{Scenario: scenario(t, info.Name, nil), Seed: 6}
				fates := func(atOnce int) map[uint64]string {
					s := newServer(t, cfg)
					got := make(map[uint64]string)
					var mu sync.Mutex
					var callers sync.WaitGroup
					for range atOnce {
						callers.Go(func() {
							for range 60 / atOnce {
								r := httptest.NewRequest(http.MethodGet, "/call", nil)
								w := httptest.NewRecorder()
								before := time.Now()
								func() {
									defer func() { _ = recover() }() // a cut connection
									s.ServeHTTP(w, r)
								}()
								var n uint64
								_, _ = fmt.Sscanf(w.Body.String(), `{"call":%d,`, &n)
								mu.Lock()
								got[n] = fmt.Sprint(w.Code, w.Body.Len(), time.Since(before))
								mu.Unlock()
							}
						})
					}
					callers.Wait()
					return got
				}
				assert.Equal(t, fates(1), fates(10))
			})
		})
	}
}

func TestConservationInEveryScenario(t *testing.T) {
	for _, info := range Scenarios() {
		for c := Ignore; c <= MidWork; c++ {
			t.Run(info.Name+" "+c.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					params := map[string]any{}
					if info.Name == "outage" {
						params["mode"] = "hang"
					}
					phase, err := ParsePhase("300ms outage mode=stall for 200ms")
					require.NoError(t, err)
					s := newServer(t, Config{Scenario: scenario(t, info.Name, params), Seed: 5, Cancellation: c, Timeline: []Phase{phase}})
					var callers sync.WaitGroup
					for i := range 40 {
						callers.Go(func() {
							for j := range 10 {
								ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(i*10+j)%25)*10*ms)
								func() {
									defer func() { _ = recover() }()
									r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/call", nil)
									s.ServeHTTP(httptest.NewRecorder(), r)
								}()
								cancel()
								got := s.Stats()
								require.Equal(t, got.Received, sum(got))
							}
						})
					}
					callers.Wait()
					got := s.Stats()
					assert.EqualValues(t, 400, got.Received)
					assert.Equal(t, got.Received, sum(got))
					assert.Zero(t, got.Inflight)
					if q := s.run.Load().regime.base.queue; q != nil {
						busy, waiting := q.Load()
						assert.Zero(t, busy+waiting)
					}
				})
			})
		}
	}
}

func TestHaltEndsQueuedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Scenario: scenario(t, "outage", map[string]any{"mode": "stall"})})
		ended := make(chan any)
		go func() {
			defer func() { ended <- recover() }()
			call(t, s, t.Context(), nil)
		}()
		synctest.Wait()
		s.halt()
		assert.Equal(t, http.ErrAbortHandler, <-ended)
		assert.Equal(t, map[string]uint64{string(stats.ServerClosed): 1}, s.Stats().Failed)
	})
}
