package downstream

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// once makes a call that the client does not repeat by itself on a broken connection.
func once(c *http.Client, url string) (*http.Response, error) {
	r, err := http.NewRequest(http.MethodPost, url+"/call", strings.NewReader("x"))
	if err != nil {
		return nil, err
	}
	return c.Do(r)
}

func TestConnectionsAreReset(t *testing.T) {
	for name, tt := range map[string]struct {
		scenario string
		params   map[string]any
		kind     string
	}{
		"refuse":   {"outage", map[string]any{"mode": "refuse"}, "refused"},
		"reset":    {"outage", map[string]any{"mode": "reset", "delay": "5ms"}, "reset"},
		"hang":     {"outage", map[string]any{"mode": "hang", "hang": "20ms"}, "hung"},
		"payments": {"payments", map[string]any{"hangRate": 1, "hang": "20ms"}, "hung"},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, Config{Scenario: scenario(t, tt.scenario, tt.params)})
			resp, err := once(client(t), l.URL())
			if !assert.ErrorIs(t, err, syscall.ECONNRESET) && err == nil {
				resp.Body.Close()
			}
			got := until(t, l.Server(), inflight(0))
			assert.Equal(t, map[string]uint64{tt.kind: 1}, got.Failed)
			require.NoError(t, l.Close(t.Context()), "no connection is left to wait for")
		})
	}
}

func TestPartialBodyOverHTTP(t *testing.T) {
	for _, sent := range []int{0, 1, 1024, 16383} {
		l := listen(t, Config{Scenario: scenario(t, "partial-body", map[string]any{"delay": 0, "sent": sent})})
		resp, err := once(client(t), l.URL())
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		assert.EqualValues(t, 16384, resp.ContentLength)
		b, err := io.ReadAll(resp.Body)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		assert.Len(t, b, sent)
		resp.Body.Close()
		assert.Equal(t, map[string]uint64{"truncated": 1}, l.Server().Stats().Failed)
	}
}

func TestSlowBodyOverHTTP(t *testing.T) {
	for _, size := range []int{64, 16384, 100_003} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			l := listen(t, Config{Scenario: scenario(t, "slow-body", map[string]any{"delay": 0, "bytes": size, "over": "200ms"})})
			begin := time.Now()
			resp, err := once(client(t), l.URL())
			require.NoError(t, err)
			assert.Less(t, time.Since(begin), 200*ms, "the header comes first")
			assert.EqualValues(t, size, resp.ContentLength)
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			require.NoError(t, err)
			assert.GreaterOrEqual(t, time.Since(begin), 200*ms)
			assert.Len(t, b, size)
			var a answerBody
			require.NoError(t, json.Unmarshal(b, &a))
			assert.Equal(t, answerBody{1, true}, a)
			got := l.Server().Stats()
			assert.EqualValues(t, 1, got.Finished)
			assert.Zero(t, got.Inflight)
			assert.GreaterOrEqual(t, got.BusyMs, 200.0, "sending is work")
		})
	}
	t.Run("without delay", func(t *testing.T) {
		l := listen(t, Config{Scenario: scenario(t, "slow-body", map[string]any{"delay": 0, "rate": 0, "bytes": 5 << 20})})
		resp, err := once(client(t), l.URL())
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		require.NoError(t, err)
		assert.EqualValues(t, 5<<20, n)
	})
}

func TestClientGoneInASlowBody(t *testing.T) {
	for c := Ignore; c <= MidWork; c++ {
		t.Run(c.String(), func(t *testing.T) {
			l := listen(t, Config{
				Scenario: scenario(t, "slow-body", map[string]any{"delay": 0, "over": "400ms"}), Cancellation: c,
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL()+"/call", nil)
			require.NoError(t, err)
			resp, err := client(t).Do(r)
			require.NoError(t, err)
			cancel()
			resp.Body.Close()
			got := until(t, l.Server(), inflight(0))
			assert.EqualValues(t, 1, got.Abandoned)
			if c == MidWork {
				assert.Less(t, got.BusyMs, 390.0)
			} else {
				assert.GreaterOrEqual(t, got.BusyMs, 390.0)
			}
			assert.Equal(t, got.Received, sum(got))
		})
	}
}

func TestPutScenarioOverHTTP(t *testing.T) {
	l := listen(t, fixed(t, 0))
	c := client(t)
	r, err := http.NewRequest(http.MethodPut, l.URL()+"/scenario", strings.NewReader(`{"scenario":"outage"}`))
	require.NoError(t, err)
	resp, err := c.Do(r)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	status, _, err := get(c, l.URL()+"/call")
	require.NoError(t, err)
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.EqualValues(t, 1, l.Server().Stats().Dials, "the connection is used on")
}
