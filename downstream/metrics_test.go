package downstream

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// samples reads the text format of Prometheus: the value by the name with its labels.
func samples(t *testing.T, text string) map[string]float64 {
	got := make(map[string]float64)
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || name == "#" {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err, lines.Text())
		got[name] = v
	}
	return got
}

func TestMetrics(t *testing.T) {
	const p = "retrylab_downstream_"
	l := listen(t, Config{Scenario: scenario(t, "random-failures", map[string]any{"delay": "1ms"}), Seed: 1})
	c := client(t)
	for range 10 {
		_, _, err := get(c, l.URL()+"/call")
		require.NoError(t, err)
	}
	resp, err := c.Get(l.URL() + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Contains(t, resp.Header.Get("Content-Type"), "text/plain")
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	got := samples(t, string(text))
	for name, want := range map[string]float64{
		"calls_received_total": 10, "calls_started_total": 10, "retries_total": 0, "dials_total": 1, "inflight_calls": 0,
		"inflight_calls_max": 1, `calls_ended_total{outcome="finished"}`: 7, `calls_ended_total{outcome="http_5xx"}`: 3,
		`calls_ended_total{outcome="queue_full"}`: 0, `info{scenario="random-failures",seed="1"}`: 1, "linger_seconds_count": 0,
	} {
		assert.Contains(t, got, p+name)
		assert.Equal(t, want, got[p+name], name)
	}
	assert.InDelta(t, l.Server().Stats().BusyMs/1000, got[p+"busy_seconds_total"], 1e-9, "in seconds")
	assert.Greater(t, got["go_goroutines"], 0.0)
	assert.Contains(t, string(text), "# TYPE "+p+"calls_ended_total counter\n")

	l.Server().Reset()
	assert.Zero(t, samples(t, admin(l.Server(), "GET", "/metrics", "").Body.String())[p+"calls_received_total"])
	// Another server in the same process is on its own.
	assert.Zero(t, samples(t, admin(newServer(t, fixed(t, 0)), "GET", "/metrics", "").Body.String())[p+"dials_total"])
	w := admin(l.Server(), "POST", "/metrics", "")
	assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
}
