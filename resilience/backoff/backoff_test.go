package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience/backoff"
	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

func TestDelayGrowsAndStopsAtMax(t *testing.T) {
	s := backoff.Schedule{Initial: 75 * ms, Multiplier: 2, Max: 400 * ms}
	var got []time.Duration
	for k := 1; k <= 5; k++ {
		got = append(got, s.Delay(k, 0, 0.5))
	}
	assert.Equal(t, []time.Duration{75 * ms, 150 * ms, 300 * ms, 400 * ms, 400 * ms}, got)
}

func TestDelayOfEachJitterAtTheEndsOfItsRange(t *testing.T) {
	const almostOne = 1 - 1e-12
	for _, c := range []struct {
		jitter   backoff.Jitter
		fraction float64
		low, top time.Duration
	}{
		{backoff.None, 0, 200 * ms, 200 * ms},
		{backoff.Full, 0, 0, 200 * ms},
		{backoff.Equal, 0, 100 * ms, 200 * ms},
		{backoff.Factor, 0.5, 100 * ms, 300 * ms},
		{backoff.Add, 0.2, 200 * ms, 240 * ms},
		{backoff.Decorrelated, 0, 100 * ms, 600 * ms}, // initial … 3 × the previous 200 ms
	} {
		s := backoff.Schedule{Initial: 100 * ms, Multiplier: 2, Max: time.Second, Jitter: c.jitter, Fraction: c.fraction}
		assert.Equal(t, c.low, s.Delay(2, 200*ms, 0), "%s, u = 0", c.jitter)
		assert.InDelta(t, float64(c.top), float64(s.Delay(2, 200*ms, almostOne)), float64(time.Microsecond), "%s, u → 1", c.jitter)
	}
}

func TestDelayIsCappedBeforeAndAfterJitter(t *testing.T) {
	s := backoff.Schedule{Initial: time.Second, Multiplier: 10, Max: 2 * time.Second, Jitter: backoff.Factor, Fraction: 0.5}
	assert.Equal(t, time.Second, s.Delay(9, 0, 0), "spread from the cap, not from 10⁸ s")
	assert.Equal(t, 2*time.Second, s.Delay(9, 0, 0.999), "cut at the cap after the spread")
}

func TestNoInitialDelayIsNoWait(t *testing.T) {
	for _, j := range []backoff.Jitter{backoff.None, backoff.Full, backoff.Equal, backoff.Decorrelated, backoff.Factor, backoff.Add} {
		s := backoff.Schedule{Multiplier: 2, Max: time.Second, Jitter: j, Fraction: 1}
		assert.Zero(t, s.Delay(200, time.Second, 0.9), j)
	}
}

func FuzzDelayStaysInRange(f *testing.F) {
	f.Add(int64(75*ms), 2.0, int64(10*time.Second), uint8(4), 0.5, 200, int64(0), 0.5)
	f.Add(int64(math.MaxInt64), 1000.0, int64(math.MaxInt64), uint8(3), 1.0, 200, int64(math.MaxInt64), 0.999)
	f.Fuzz(func(t *testing.T, initial int64, multiplier float64, limit int64, jitter uint8, fraction float64, k int, previous int64, u float64) {
		if initial < 0 || limit <= 0 || initial > limit || !(multiplier >= 1 && multiplier <= 1000) ||
			!(fraction >= 0 && fraction <= 1) || k < 1 || previous < 0 || !(u >= 0 && u < 1) {
			return
		}
		s := backoff.Schedule{
			Initial: time.Duration(initial), Multiplier: multiplier, Max: time.Duration(limit),
			Jitter: backoff.Jitter(jitter % 6), Fraction: fraction,
		}
		if d := s.Delay(k, time.Duration(previous), u); d < 0 || d > s.Max {
			t.Fatalf("%+v.Delay(%d, %d, %v) = %d is outside 0 … Max", s, k, previous, u, d)
		}
	})
}
