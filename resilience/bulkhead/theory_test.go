package bulkhead_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/retrylab/retrylab/resilience/bulkhead"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// erlangB is the share that so many permits without a queue lose of a load,
// in Erlang (A. K. Erlang, 1917).
func erlangB(permits int, load float64) float64 {
	b := 1.0
	for k := 1; k <= permits; k++ {
		b = load * b / (float64(k) + load*b)
	}
	return b
}

// lost is the share of calls that a bulkhead without a queue refuses, in
// virtual time: arrivals are Poisson, and a permit is held for an exponential
// time of mean 1.
func lost(t *testing.T, permits int, load float64, seed uint64, calls int) float64 {
	t.Helper()
	b, err := bulkhead.New(bulkhead.Config{MaxConcurrent: permits})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(seed, 0))
	var ends []float64 // of the calls in progress
	now, refused := 0.0, 0
	for range calls {
		now += random.ExpFloat64() / load
		ends = slices.DeleteFunc(ends, func(end float64) bool {
			if end <= now {
				b.Release()
			}
			return end <= now
		})
		if !b.TryAcquire() {
			refused++
			continue
		}
		ends = append(ends, now+random.ExpFloat64())
	}
	assert.Equal(t, permits-len(ends), b.Available())
	return float64(refused) / float64(calls)
}

// 8 permits that are offered 8 Erlang lose 0.236 of the calls.
func TestLossIsErlangB(t *testing.T) {
	assert.InDelta(t, 0.236, erlangB(8, 8), 0.0005, "the closed form")
	for seed := range uint64(3) {
		for _, load := range []float64{4, 8, 16} {
			got := lost(t, 8, load, seed, 200_000)
			t.Logf("seed %d, %v Erlang: lost %.4f, Erlang B %.4f", seed, load, got, erlangB(8, load))
			assert.InDelta(t, erlangB(8, load), got, 0.006, "seed %d, %v Erlang", seed, load)
		}
	}
}
