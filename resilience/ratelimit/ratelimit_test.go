package ratelimit_test

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience/ratelimit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var epoch = time.Unix(1_000_000, 0)

func newLimiter(t *testing.T, c ratelimit.Config) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.New(c)
	require.NoError(t, err)
	return l
}

// use is a token that is used, or was to be.
type use struct {
	at       time.Time
	canceled bool
}

func TestNeverMoreThanPermitsAndTheirRateInAnyInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := ratelimit.Config{
			Permits: rapid.IntRange(1, 9).Draw(t, "permits"),
			Per:     time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "per")),
			MaxWait: time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "maxWait")),
		}
		l, err := ratelimit.New(c)
		if err != nil {
			t.Fatal(err)
		}
		now, latest := epoch, epoch // the clock, and the latest that the limiter was told
		l.Acquire(epoch)
		uses := []use{{at: epoch}}
		cancels := 0
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				if now.After(latest) {
					latest = now
				}
				for range rapid.IntRange(1, 20).Draw(t, "times") {
					wait, ok := l.Acquire(now)
					if !ok {
						continue
					}
					if wait < 0 || wait > c.MaxWait {
						t.Fatalf("waits %v, at most %v", wait, c.MaxWait)
					}
					uses = append(uses, use{at: latest.Add(wait)})
				}
			},
			"cancel": func(t *rapid.T) {
				var waiting []int
				for i, u := range uses {
					if u.at.After(latest) && u.at.After(now) && !u.canceled {
						waiting = append(waiting, i)
					}
				}
				if len(waiting) == 0 {
					t.Skip("nobody waits")
				}
				uses[rapid.SampledFrom(waiting).Draw(t, "who")].canceled = true
				cancels++
				l.Cancel()
			},
			"time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(c.Per)*2).Draw(t, "ns")))
			},
			"back": func(t *rapid.T) {
				now = now.Add(-time.Duration(rapid.Int64Range(0, int64(c.Per)).Draw(t, "ns")))
			},
		})
		var used []time.Time
		for _, u := range uses {
			if !u.canceled {
				used = append(used, u.at)
			}
		}
		slices.SortFunc(used, time.Time.Compare)
		allowed := func(span time.Duration) float64 {
			// A wait is rounded to whole nanoseconds: one of room at each end.
			return float64(c.Permits) * (1 + float64(span+2)/float64(c.Per))
		}
		for i := range used {
			if n := float64(i + 1); n > allowed(used[i].Sub(epoch))+1e-6 {
				t.Fatalf("%v were used in the first %v", n, used[i].Sub(epoch))
			}
			for j := i; j < len(used); j++ {
				span := used[j].Sub(used[i])
				if n := float64(j - i + 1); n > allowed(span)+float64(cancels)+1e-6 {
					t.Fatalf("%v were used in %v", n, span)
				}
			}
		}
	})
}

func TestWaitsAreSpacedEvenly(t *testing.T) {
	for _, permits := range []int{1, 3, 7, 1000} {
		l := newLimiter(t, ratelimit.Config{Permits: permits, Per: time.Second, MaxWait: time.Hour})
		for range permits {
			wait, ok := l.Acquire(epoch)
			require.True(t, ok)
			require.Zero(t, wait, "a full bucket")
		}
		for i := 1; i <= 3*permits; i++ {
			wait, ok := l.Acquire(epoch)
			require.True(t, ok)
			exact := float64(i) * float64(time.Second) / float64(permits)
			require.InDelta(t, exact, float64(wait), 2, "number %d of %d a second", i, permits)
		}
	}
}

func TestThirdsOfASecondAreNotLost(t *testing.T) {
	l := newLimiter(t, ratelimit.Config{Permits: 3, Per: time.Second})
	granted := 0
	const seconds = 1000
	for ms := range seconds*1000 + 1 {
		if _, ok := l.Acquire(epoch.Add(time.Duration(ms) * time.Millisecond)); ok {
			granted++
		}
	}
	// All but the last one at most: a third of a second falls between two asks.
	assert.Equal(t, 3+3*seconds, granted)
}

func TestAMachineThatAsksJustWhenItMayIsNeverRefused(t *testing.T) {
	for _, permits := range []int{1, 3, 5, 7, 10, 11, 80, 999, 1000} {
		l := newLimiter(t, ratelimit.Config{Permits: permits, Per: time.Second})
		for range permits {
			l.Acquire(epoch)
		}
		for i := 1; i <= 20_000; i++ {
			at := epoch.Add(time.Duration(math.Ceil(float64(i) * float64(time.Second) / float64(permits))))
			_, ok := l.Acquire(at)
			require.True(t, ok, "number %d of %d a second", i, permits)
			_, ok = l.Acquire(at)
			require.False(t, ok, "and there is no second")
		}
	}
}

// Ten times a tenth of a token is a little less than one in floating point.
func TestRoundingErrorsDelayNoPermit(t *testing.T) {
	l := newLimiter(t, ratelimit.Config{Permits: 10, Per: time.Second})
	for range 10 {
		l.Acquire(epoch)
	}
	for i := 1; i <= 10_000; i++ {
		_, ok := l.Acquire(epoch.Add(time.Duration(i) * 10 * time.Millisecond))
		require.Equal(t, i%10 == 0, ok, "after %d × 10 ms", i)
	}
}

func TestRefusesALongerWaitAndTakesNothing(t *testing.T) {
	l := newLimiter(t, ratelimit.Config{Permits: 1, Per: time.Second, MaxWait: time.Second})
	for _, want := range []time.Duration{0, time.Second} {
		wait, ok := l.Acquire(epoch)
		require.True(t, ok)
		require.Equal(t, want, wait)
	}
	for range 100 {
		_, ok := l.Acquire(epoch)
		require.False(t, ok)
	}
	wait, ok := l.Acquire(epoch.Add(time.Second))
	assert.True(t, ok, "the refused took none")
	assert.Equal(t, time.Second, wait)
}

func TestCancelGivesTheTokenToTheNext(t *testing.T) {
	l := newLimiter(t, ratelimit.Config{Permits: 2, Per: time.Second, MaxWait: time.Minute})
	for range 2 {
		l.Acquire(epoch)
	}
	first, _ := l.Acquire(epoch)
	for range 1000 {
		l.Cancel()
		wait, ok := l.Acquire(epoch)
		require.True(t, ok)
		require.Equal(t, first, wait, "tokens are neither lost nor made")
	}
	for range 10 {
		l.Cancel() // more than were taken
	}
	granted := 0
	for range 10 {
		if wait, _ := l.Acquire(epoch); wait == 0 {
			granted++
		}
	}
	assert.Equal(t, 2, granted, "a bucket holds no more than its permits")
}

func TestAClockThatGoesBackMakesNoTokens(t *testing.T) {
	l := newLimiter(t, ratelimit.Config{Permits: 1, Per: time.Second})
	_, ok := l.Acquire(epoch)
	require.True(t, ok)
	for i := range 100 {
		_, ok = l.Acquire(epoch.Add(-time.Duration(i) * time.Second))
		require.False(t, ok)
		_, ok = l.Acquire(epoch.Add(time.Second - 2))
		require.False(t, ok, "the same second does not pass twice")
	}
	_, ok = l.Acquire(epoch.Add(time.Second))
	assert.True(t, ok)
}

func TestAWaitThatNoDurationHoldsIsRefused(t *testing.T) {
	l := newLimiter(t, ratelimit.Config{Permits: 1, Per: math.MaxInt64, MaxWait: math.MaxInt64})
	_, ok := l.Acquire(epoch)
	require.True(t, ok)
	for range 3 {
		if wait, ok := l.Acquire(epoch); ok {
			require.Positive(t, wait)
		}
	}
}

func TestResetFills(t *testing.T) {
	l := newLimiter(t, ratelimit.Config{Permits: 2, Per: time.Hour})
	l.Acquire(epoch)
	l.Acquire(epoch)
	l.Reset()
	_, ok := l.Acquire(epoch)
	assert.True(t, ok)
}

func TestManyGoroutinesShareThePermits(t *testing.T) {
	l := newLimiter(t, ratelimit.Config{Permits: 100, Per: time.Hour})
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if _, ok := l.Acquire(epoch); ok {
					granted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 100, granted.Load())
}

func TestValidateNamesEveryFault(t *testing.T) {
	_, err := ratelimit.New(ratelimit.Config{MaxWait: -1})
	assert.EqualError(t, err, "permits: 0 is not in 1 … 1000000000\nper: 0s is not above 0\nmaxWait: -1ns is negative")
}
