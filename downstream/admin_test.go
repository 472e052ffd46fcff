package downstream

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// admin makes a request that is not a call and returns the answer.
func admin(s *Server, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestPutScenario(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := fixed(t, 100*ms)
		cfg.Seed, cfg.Timeline = 3, phases(t, "1h gray")
		s := newServer(t, cfg)
		var callers sync.WaitGroup
		callers.Go(func() {
			assert.Equal(t, []served{{200, 1, 100 * ms}}, volley(t, s, 1, nil), "a call in progress goes on as it began")
		})
		time.Sleep(50 * ms)
		w := admin(s, "PUT", "/scenario", `{"scenario":"outage","params":{"duration":"1s"},"cancellation":"mid-work"}`)
		assert.Equal(t, 200, w.Code)
		var got map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		assert.Equal(t, "outage", got["scenario"])
		assert.Equal(t, "mid-work", got["cancellation"])
		assert.EqualValues(t, 3, got["seed"], "what is absent is kept")
		assert.NotContains(t, got, "timeline", "but for the timeline")
		assert.Equal(t, 1000.0, got["params"].(map[string]any)["duration_ms"])

		assert.Equal(t, served{503, 2, 0}, volley(t, s, 1, nil)[0], "numbers go on")
		callers.Wait()
		time.Sleep(950 * ms)
		assert.Equal(t, served{200, 3, 50 * ms}, volley(t, s, 1, nil)[0], "the age begins with the change")
		st := s.Stats()
		assert.Equal(t, "outage", st.Scenario)
		assert.EqualValues(t, 3, st.Received)

		// What GET gives may be sent back.
		before := admin(s, "GET", "/scenario", "").Body.String()
		w = admin(s, "PUT", "/scenario", before)
		assert.Equal(t, 200, w.Code)
		assert.Equal(t, before, w.Body.String())
		s.Reset()
		assert.Equal(t, "outage", s.Stats().Scenario, "a reset keeps what was put")
	})
}

func TestPutScenarioThatIsRefusedChangesNothing(t *testing.T) {
	s := newServer(t, fixed(t, 0))
	before := admin(s, "GET", "/scenario", "").Body.String()
	for body, want := range map[string]string{
		"":      "not a JSON object: EOF",
		"{":     "not a JSON object: unexpected EOF",
		`{}`:    "scenario: none given; known are " + allNames,
		`{"a":`: "not a JSON object: unexpected EOF",
		`{"scenario":"gray","params":{"instances":0,"delay":"x"},"cancellation":"now"}`: `gray.instances: "0" is outside 1..100000` + "\n" +
			`gray.delay: "x" is not a duration: want text such as "220ms" or "1.5s", or a number of milliseconds` + "\n" +
			`cancellation "now" is none of ignore, at-dequeue, mid-work`,
		`{"scenario":"gray","token":"x"}`: "token: cannot be changed",
	} {
		w := admin(s, "PUT", "/scenario", body)
		assert.Equal(t, http.StatusBadRequest, w.Code, body)
		var got struct{ Error string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		assert.Equal(t, want, got.Error)
	}
	w := admin(s, "PUT", "/scenario", `{"scenario":"`+strings.Repeat("x", maxAdminBody)+`"}`)
	assert.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	assert.JSONEq(t, `{"error":"body is longer than 65536 bytes"}`, w.Body.String())
	assert.Equal(t, before, admin(s, "GET", "/scenario", "").Body.String())
}

func TestToken(t *testing.T) {
	cfg := fixed(t, 0)
	cfg.Token = "secret"
	s := newServer(t, cfg)
	put := `{"scenario":"gray"}`
	for _, given := range []string{"", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret", "Bearer  secret"} {
		for _, route := range []string{"POST /reset", "PUT /scenario"} {
			method, path, _ := strings.Cut(route, " ")
			w := admin(s, method, path, put, "Authorization", given)
			assert.Equal(t, http.StatusUnauthorized, w.Code, "%s with %q", route, given)
			assert.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))
			assert.JSONEq(t, `{"error":"`+route+` needs the header Authorization: Bearer TOKEN"}`, w.Body.String())
		}
	}
	assert.Equal(t, "fixed-delay", s.Stats().Scenario)
	for _, open := range []string{"/call", "/stats", "/scenario", "/healthz"} {
		assert.Equal(t, 200, admin(s, "GET", open, "").Code, open)
	}
	assert.Equal(t, 200, admin(s, "PUT", "/scenario", put, "Authorization", "Bearer secret").Code)
	assert.Equal(t, "gray", s.Stats().Scenario)
	assert.Equal(t, 200, admin(s, "POST", "/reset", "", "Authorization", "bearer secret").Code, "the scheme has no case")
	assert.Zero(t, s.Stats().Received)
}
