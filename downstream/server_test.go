package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
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
	var mu sync.Mutex
	got := make(map[uint64]bool)
	var callers sync.WaitGroup
	for range atOnce {
		callers.Go(func() {
			for range n / atOnce {
				status, a := call(t, s, t.Context(), nil)
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

func TestClientGoneInMidService(t *testing.T) {
	tests := []struct {
		cancellation           Cancellation
		wantEnd                time.Duration
		wantBusy, wantResidual float64
	}{
		{Ignore, 220 * ms, 220, 160},
		{AtDequeue, 220 * ms, 220, 160},
		{MidWork, 60 * ms, 60, 0},
	}
	for _, tt := range tests {
		t.Run(tt.cancellation.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := fixed(t, 220*ms)
				cfg.Cancellation = tt.cancellation
				s := newServer(t, cfg)
				ctx, cancel := context.WithTimeout(t.Context(), 60*ms)
				defer cancel()
				start := time.Now()
				ended := make(chan time.Duration, 1)
				go func() {
					call(t, s, ctx, nil)
					ended <- time.Since(start)
				}()

				time.Sleep(61 * ms)
				synctest.Wait()
				running := s.Stats()
				if tt.cancellation == MidWork {
					assert.Equal(t, 0, running.Inflight)
				} else {
					assert.Equal(t, 1, running.Inflight, "the server works on")
					assert.EqualValues(t, 1, running.ResidualMs, "work so far counts")
				}

				assert.Equal(t, tt.wantEnd, <-ended)
				got := s.Stats()
				assert.EqualValues(t, 1, got.Abandoned)
				assert.EqualValues(t, 0, got.Finished)
				assert.Equal(t, 0, got.Inflight)
				assert.Equal(t, tt.wantBusy, got.BusyMs)
				assert.Equal(t, tt.wantResidual, got.ResidualMs)
				assert.Equal(t, got.Received, sum(got))
			})
		})
	}
}

func TestClientGoneBeforeService(t *testing.T) {
	for cancellation, wantStarted := range map[Cancellation]uint64{Ignore: 1, AtDequeue: 0, MidWork: 0} {
		t.Run(cancellation.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := fixed(t, 220*ms)
				cfg.Cancellation = cancellation
				s := newServer(t, cfg)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				call(t, s, ctx, nil)
				got := s.Stats()
				assert.EqualValues(t, 1, got.Abandoned)
				assert.Equal(t, wantStarted, got.Started)
				assert.EqualValues(t, 220*wantStarted, got.BusyMs)
				assert.EqualValues(t, 220*wantStarted, got.ResidualMs)
			})
		})
	}
}

func TestPatienceMakesResidualWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fixed(t, 220*ms))
		for _, patience := range []string{"180", "220", "1000", "0", "", "soon", "-5"} {
			call(t, s, t.Context(), map[string]string{"x-envoy-expected-rq-timeout-ms": patience})
		}
		got := s.Stats()
		assert.EqualValues(t, 40, got.ResidualMs, "only the first ran out of patience")
		assert.EqualValues(t, 7, got.Finished, "and even that one was there for the answer")
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

func TestRoutes(t *testing.T) {
	s := newServer(t, Config{Scenario: scenario(t, "random-failures", map[string]any{"delay": 0, "failureRate": "1"}), Seed: 3, Cancellation: MidWork})
	tests := []struct {
		method, path string
		status       int
		allow, body  string // body "": anything
	}{
		{"GET", "/healthz", 200, "", `{"ok":true}`},
		{"HEAD", "/healthz", 200, "", ""},
		{"GET", "/call", 503, "", `{"call":1,"ok":false}`},
		{"POST", "/call", 503, "", `{"call":2,"ok":false}`},
		{"PURGE", "/call", 503, "", `{"call":3,"ok":false}`},
		{"POST", "/reset", 200, "", `{"ok":true}`},
		{"DELETE", "/call", 503, "", `{"call":1,"ok":false}`},
		{"GET", "/scenario", 200, "", `{"scenario":"random-failures","params":{"delay_ms":0,"failure_rate":1},"seed":3,"cancellation":"mid-work"}`},
		{"GET", "/stats", 200, "", ""},
		{"GET", "/reset", 405, "POST", `{"error":"method \"GET\" on /reset is not POST"}`},
		{"POST", "/stats", 405, "GET, HEAD", `{"error":"method \"POST\" on /stats is not GET, HEAD"}`},
		{"DELETE", "/scenario", 405, "GET, HEAD, PUT", `{"error":"method \"DELETE\" on /scenario is not GET, HEAD, PUT"}`},
		{"DELETE", "/healthz", 405, "GET, HEAD", ""},
		{"GET", "/", 404, "", `{"error":"no route \"/\"; known are /call, /stats, /reset, /scenario, /healthz"}`},
		{"GET", "/call/", 404, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
			assert.Equal(t, tt.status, w.Code)
			assert.Equal(t, tt.allow, w.Header().Get("Allow"))
			assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
			if tt.body != "" {
				assert.JSONEq(t, tt.body, w.Body.String())
			} else {
				assert.True(t, json.Valid(w.Body.Bytes()))
			}
		})
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/stats", nil))
	var got stats.Snapshot
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	assert.EqualValues(t, 1, got.Received)
	assert.Equal(t, map[string]uint64{"http_5xx": 1}, got.Failed)
}

type brokenBody struct{ err error }

func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

func TestBodies(t *testing.T) {
	tests := []struct {
		name   string
		body   io.Reader
		status int
		error  string
		want   stats.Outcome
	}{
		{"at the limit", bytes.NewReader(make([]byte, MaxBody)), 200, "", stats.Finished},
		{"too long", bytes.NewReader(make([]byte, MaxBody+1)), 413, "body is longer than 1048576 bytes", stats.HTTP4xx},
		{"malformed", brokenBody{errors.New("bad chunk")}, 400, "body cannot be read: bad chunk", stats.HTTP4xx},
		{"cut off", brokenBody{io.ErrUnexpectedEOF}, 200, "", stats.Abandoned},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, fixed(t, 0))
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/call", tt.body))
			assert.Equal(t, tt.status, w.Code)
			if tt.error != "" {
				assert.JSONEq(t, fmt.Sprintf(`{"error":%q}`, tt.error), w.Body.String())
			}
			got := s.Stats()
			want := stats.Snapshot{Failed: map[string]uint64{}}
			switch tt.want {
			case stats.Finished:
				want.Finished, want.Started = 1, 1
			case stats.Abandoned:
				want.Abandoned = 1
			default:
				want.Failed[string(tt.want)] = 1
			}
			assert.Equal(t, want.Failed, got.Failed)
			assert.Equal(t, want.Finished, got.Finished)
			assert.Equal(t, want.Started, got.Started)
			assert.Equal(t, want.Abandoned, got.Abandoned)
			assert.Equal(t, got.Received, sum(got))
		})
	}
}

func TestCallsAreLoggedAtDebugLevel(t *testing.T) {
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	log.SetFormatter(&logrus.JSONFormatter{})
	cfg := fixed(t, 0)
	cfg.Logger = log.WithField("part", "downstream")
	s := newServer(t, cfg)
	header := map[string]string{"x-request-id": "r-7", "x-envoy-attempt-count": "2"}
	call(t, s, t.Context(), header)
	assert.Empty(t, out.String())

	log.SetLevel(logrus.DebugLevel)
	call(t, s, t.Context(), header)
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	delete(line, "time")
	assert.Equal(t, map[string]any{
		"level": "debug", "msg": "call ended", "part": "downstream",
		"call": 2.0, "attempt": 2.0, "request_id": "r-7", "outcome": "finished",
	}, line)
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

func TestParseScenario(t *testing.T) {
	sc := scenario(t, "random-failures", map[string]any{"failureRate": "0.5"})
	assert.Equal(t, "random-failures", sc.Name())
	assert.Equal(t, map[string]any{"delay_ms": 120.0, "failure_rate": 0.5}, sc.Params())
	sc.Params()["delay_ms"] = 1
	assert.Equal(t, 120.0, sc.Params()["delay_ms"], "the map is a copy")

	b, err := json.Marshal(scenario(t, "latency-tail-spike", map[string]any{"spike": 1.5}).Params())
	require.NoError(t, err)
	assert.JSONEq(t, `{"delay_ms":90,"every":6,"spike_ms":1.5}`, string(b))
	b, err = json.Marshal(scenario(t, "progressive-degradation", nil).Params())
	require.NoError(t, err)
	assert.JSONEq(t, `{"base_ms":80,"step_ms":3,"max_ms":900,"heal_after_ms":0,"heal_after_calls":0}`, string(b))

	_, err = ParseScenario("latency-tail-spike", map[string]any{"every": "0", "speed": 1})
	assert.EqualError(t, err, `latency-tail-spike.every: "0" is outside 1..1000000000`+"\n"+
		`latency-tail-spike.speed: unknown parameter; known are delay, every, spike`)
	_, err = ParseScenario("outrage", nil)
	assert.EqualError(t, err, `unknown scenario "outrage"; known are `+allNames)

	assert.Empty(t, Scenario{}.Name())
	assert.Nil(t, Scenario{}.Params())
}

func TestScenariosListTheirDefaults(t *testing.T) {
	infos := Scenarios()
	var names []string
	for _, info := range infos {
		names = append(names, info.Name)
		assert.NotEmpty(t, info.Doc)
		assert.NotContains(t, info.Doc, "\n")
		// A listed default, given back as it is listed, changes nothing.
		given := map[string]any{}
		for _, p := range info.Params {
			given[p.Name] = p.Default
			assert.NotEmpty(t, p.Doc)
			assert.NotEmpty(t, p.Range)
			assert.True(t, slices.Contains([]string{"duration", "number", "integer", "choice"}, p.Type), p.Type)
		}
		assert.Equal(t, scenario(t, info.Name, nil).Params(), scenario(t, info.Name, given).Params())
	}
	assert.Equal(t, allNames, strings.Join(names, ", "))
	assert.Equal(t, faults.ParamInfo{
		Name: "delay", Type: "duration", Default: "220ms", Range: "0s..1h", Doc: "service time of a call",
	}, infos[0].Params[0])
}

// Whatever JSON gives, parsing does not panic; what it accepts is what it then reports, and is in range.
func FuzzParseScenario(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"delay":"220ms"}`, `{"delay":1.5,"failureRate":"0.35"}`, `{"base":"1s","step":0,"max":2000}`,
		`{"every":6.0,"spike":"1.5s"}`, `{"every":1e300}`, `{"delay":null,"x":[1]}`, `{"delay":"-1ns"}`, `{"delay":{}}`,
	} {
		for i := range Scenarios() {
			f.Add(uint8(i), seed)
		}
	}
	infos := Scenarios()
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		var given map[string]any
		if json.Unmarshal([]byte(text), &given) != nil {
			t.Skip()
		}
		name := infos[int(which)%len(infos)].Name
		sc, err := ParseScenario(name, given)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, name+".") {
					t.Errorf("line %q does not begin with a path", line)
				}
			}
			return
		}
		if _, err := json.Marshal(sc.Params()); err != nil {
			t.Error(err)
		}
		for k, v := range sc.Params() {
			if d, ok := v.(float64); ok && (d < 0 || d > float64(time.Hour/ms)) {
				t.Errorf("%s is %v", k, v)
			}
		}
		for _, n := range []uint64{1, 6, 1 << 63} {
			if p := sc.fault.Plan(faults.Call{N: n}); p.Delay < 0 || p.Delay > faults.MaxDelay {
				t.Errorf("call %d: %+v", n, p)
			}
		}
	})
}
