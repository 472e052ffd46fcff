package downstream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

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
