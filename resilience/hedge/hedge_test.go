package hedge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience/hedge"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const ms = time.Millisecond

func newTimer(t *testing.T, c hedge.Config) *hedge.Timer {
	t.Helper()
	c.Max = 1
	timer, err := hedge.New(c)
	require.NoError(t, err)
	return timer
}

func TestFixedDelayIsWhatItIs(t *testing.T) {
	timer := newTimer(t, hedge.Config{After: 120 * ms})
	for range 1000 {
		d, ok := timer.Delay()
		require.True(t, ok, "from the first call on")
		require.Equal(t, 120*ms, d)
		timer.Record(time.Hour)
	}
}

func TestNoPercentileBeforeThereAreEnoughCalls(t *testing.T) {
	timer := newTimer(t, hedge.Config{Percentile: 95})
	for range 32 {
		_, ok := timer.Delay()
		require.False(t, ok)
		timer.Record(ms)
	}
	d, ok := timer.Delay()
	assert.True(t, ok)
	assert.Equal(t, ms, d)
	timer.Reset()
	_, ok = timer.Delay()
	assert.False(t, ok)
}

// naiveRank is the nearest rank in whole numbers: the smallest value with at
// least hundredths/10000 of all at or below it.
func naiveRank(values []time.Duration, hundredths int) time.Duration {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	for i, v := range sorted {
		if (i+1)*10_000 >= hundredths*len(sorted) {
			return v
		}
	}
	panic("there is none")
}

func TestPercentileIsTheNearestRankOfTheLastCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hundredths := rapid.IntRange(1, 9999).Draw(t, "percentile×100")
		timer, err := hedge.New(hedge.Config{Percentile: float64(hundredths) / 100, Max: 1})
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(32, 1200).Draw(t, "calls")
		seed := rapid.Uint64().Draw(t, "seed")
		random := rand.New(rand.NewPCG(seed, 0))
		var all []time.Duration
		for range n {
			d := time.Duration(1 + random.IntN(500))
			all = append(all, d)
			timer.Record(d)
		}
		got, ok := timer.Delay()
		if want := naiveRank(all[max(0, n-512):], hundredths); !ok || got != want {
			t.Fatalf("%v, %v, not %v", got, ok, want)
		}
	})
}

// In floating point 55 / 100 × 100 is above 55, and would be rank 56.
func TestNearestRankIsNotOneTooHigh(t *testing.T) {
	for p := 1; p < 100; p++ {
		for _, n := range []int{50, 100, 200, 500} {
			timer := newTimer(t, hedge.Config{Percentile: float64(p)})
			var all []time.Duration
			for i := range n {
				timer.Record(time.Duration(i + 1))
				all = append(all, time.Duration(i+1))
			}
			got, _ := timer.Delay()
			require.Equal(t, naiveRank(all, 100*p), got, "p%d of %d", p, n)
		}
	}
}

func TestPercentileFollowsTheCalls(t *testing.T) {
	timer := newTimer(t, hedge.Config{Percentile: 99.9}) // of 512, the greatest
	for _, want := range []time.Duration{30 * ms, 10 * ms, 20 * ms, 5 * ms} {
		for range 512 {
			timer.Record(want)
		}
		d, _ := timer.Delay()
		assert.Equal(t, want, d, "all older ones are forgotten")
	}
}

// hedging simulates calls of which one in ten hangs for a second, with hedges
// that answer at once. It returns the last delay and the share of calls that
// were hedged.
func hedging(t *testing.T, recordLosers bool) (time.Duration, float64) {
	const seed = 11
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	timer := newTimer(t, hedge.Config{Percentile: 90})
	const calls = 20_000
	hedges := 0
	for i := range calls {
		took := 10*ms + time.Duration(random.IntN(int(90*ms)))
		if random.IntN(10) == 0 {
			took = time.Second
		}
		delay, ok := timer.Delay()
		switch {
		case !ok || took <= delay:
			timer.Record(took)
		default:
			if i >= calls/2 {
				hedges++
			}
			if recordLosers {
				timer.Record(min(took, delay+10*ms)) // when the hedge had answered
			}
		}
	}
	delay, ok := timer.Delay()
	require.True(t, ok)
	return delay, float64(hedges) / (calls / 2)
}

func TestLosersKeepThePercentileFromSinking(t *testing.T) {
	delay, share := hedging(t, true)
	assert.Greater(t, delay, 80*ms)
	assert.InDelta(t, 0.1, share, 0.03, "one in ten, as the percentile says")

	sunk, many := hedging(t, false)
	assert.Less(t, sunk, 80*ms, "what would become of it without them")
	assert.Greater(t, many, 0.5)
}

func TestTimerIsSafeForManyGoroutines(t *testing.T) {
	timer := newTimer(t, hedge.Config{Percentile: 99})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				timer.Record(5 * ms)
				if d, ok := timer.Delay(); ok && d != 5*ms {
					t.Errorf("%v", d)
				}
			}
		})
	}
	wg.Wait()
}

func TestValidateNamesEveryFault(t *testing.T) {
	for want, c := range map[string]hedge.Config{
		"after: give a duration above 0 or {percentile: p}\nmax: 0 is not in 1 … 10": {},
		"after: give a duration above 0 or {percentile: p}":                          {After: 1, Percentile: 1, Max: 1},
		"after: -1ns is not above 0":                                                 {After: -1, Max: 1},
		"after.percentile: 100 is not between 0 and 100\nmax: 11 is not in 1 … 10":   {Percentile: 100, Max: 11},
	} {
		_, err := hedge.New(c)
		assert.EqualError(t, err, want, fmt.Sprintf("%+v", c))
	}
}
