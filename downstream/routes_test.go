package downstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/downstream/stats"
)

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
		{"POST", "/metrics", 405, "GET, HEAD", `{"error":"method \"POST\" on /metrics is not GET, HEAD"}`},
		{"GET", "/", 404, "", `{"error":"no route \"/\"; known are /call, /stats, /reset, /scenario, /healthz, /metrics"}`},
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
		{"stalled", brokenBody{os.ErrDeadlineExceeded}, 408, "body has not come to its end within 0s", stats.HTTP4xx},
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
