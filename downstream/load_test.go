package downstream

import (
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var loadTime = flag.Duration("load", 500*time.Millisecond, "how long TestConservationUnderLoad lasts; 30s is the acceptance run")

// Offered 2,000 calls per second over real connections, of which many are given up at a random time, the
// books balance at every look, and in the end nothing is in flight.
func TestConservationUnderLoad(t *testing.T) {
	const perSecond, seed = 2000, 3
	cfg := Config{
		Scenario:     scenario(t, "overload", map[string]any{"servers": 30, "queue": 200}),
		Timeline:     phases(t, "100ms outage mode=reset delay=5ms for 100ms", "300ms outage mode=stall for 50ms"),
		Seed:         seed,
		Cancellation: AtDequeue,
	}
	l := listen(t, cfg)
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 500}, Timeout: patient}
	defer c.CloseIdleConnections()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	var callers sync.WaitGroup
	begin, sent := time.Now(), 0
	tick := time.NewTicker(5 * ms)
	defer tick.Stop()
	for time.Since(begin) < *loadTime {
		<-tick.C
		for due := int(time.Since(begin).Seconds() * perSecond); sent < due; sent++ {
			patience := time.Duration(random.Int64N(int64(100 * ms)))
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL()+"/call", nil)
				assert.NoError(t, err)
				if resp, err := c.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
		}
		got := l.Server().Stats()
		require.Equal(t, got.Received, sum(got))
		require.LessOrEqual(t, got.WastedMs, got.BusyMs+1e-6)
	}
	callers.Wait()
	got := until(t, l.Server(), inflight(0))
	assert.Equal(t, got.Received, sum(got))
	assert.NotZero(t, got.Finished)
	assert.NotZero(t, got.Abandoned)
	if *loadTime >= 10*time.Second { // a short load may not meet the phases that fail
		assert.NotEmpty(t, got.Failed)
	}
	busy, waiting := l.Server().run.Load().regime.base.queue.Load()
	assert.Zero(t, busy+waiting)
	require.NoError(t, l.Close(t.Context()))
	got.Series = nil
	t.Logf("sent %d in %v: %+v", sent, time.Since(begin).Round(ms), got)
}
