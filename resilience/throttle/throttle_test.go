package throttle_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience/throttle"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var epoch = time.Unix(1_000_000, 0)

func newThrottle(t *testing.T, k float64, window time.Duration) *throttle.Throttle {
	t.Helper()
	th, err := throttle.New(throttle.Config{K: k, Window: window})
	require.NoError(t, err)
	return th
}

// The probability is the book's formula, to the last bit, for any numbers of
// requests and accepts, and always in [0, 1).
func TestProbabilityIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]float64{1, 1.1, 1.5, 2, 10, 1000}).Draw(t, "k")
		th, err := throttle.New(throttle.Config{K: k, Window: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		requests, accepts := 0.0, 0.0
		formula := func() float64 { return max(0, (requests-k*accepts)/(requests+1)) }
		t.Repeat(map[string]func(*rapid.T){
			"admit": func(t *rapid.T) {
				u := rapid.Float64Range(0, 0.999999).Draw(t, "u")
				want := u >= formula()
				requests++ // refused or not
				if got := th.Admit(epoch, u); got != want {
					t.Fatalf("admitted is %v, not %v", got, want)
				}
			},
			"accept": func(*rapid.T) {
				th.Accept(epoch)
				accepts++
			},
			"": func(t *rapid.T) {
				if got := th.Probability(epoch); got != formula() || got < 0 || got >= 1 {
					t.Fatalf("%v, not %v, after %v requests and %v accepts", got, formula(), requests, accepts)
				}
			},
		})
	})
}

func TestTheBooksFormulaByHand(t *testing.T) {
	th := newThrottle(t, 2, time.Minute)
	for range 9 {
		th.Admit(epoch, 0.5)
	}
	th.Accept(epoch)
	th.Accept(epoch)
	assert.Equal(t, 0.5, th.Probability(epoch), "(9 − 2·2) / (9 + 1)")
	assert.True(t, th.Admit(epoch, 0.5), "refused below the probability, and not at it")
	assert.False(t, th.Admit(epoch, 0.5), "(10 − 4) / 11 by now")
}

func TestHungCallCountsWhenItStarts(t *testing.T) {
	th := newThrottle(t, 2, time.Minute)
	last := 0.0
	for range 1000 { // none of them ever ends
		th.Admit(epoch, 0)
		p := th.Probability(epoch)
		require.Greater(t, p, last)
		require.Less(t, p, 1.0)
		last = p
	}
	assert.Greater(t, last, 0.99)
	assert.True(t, th.Admit(epoch, 0.9999), "even so one may be lucky")
}

func TestRefusedRequestsCountToo(t *testing.T) {
	th := newThrottle(t, 2, time.Minute)
	th.Admit(epoch, 0)
	for i := range 100 {
		refused := th.Probability(epoch)
		require.False(t, th.Admit(epoch, 0))
		require.Greater(t, th.Probability(epoch), refused, i)
	}
}

func TestDecaysWhenIdle(t *testing.T) {
	th := newThrottle(t, 2, time.Minute)
	for i := range 60 { // one each second
		th.Admit(epoch.Add(time.Duration(i)*time.Second), 0)
	}
	last := 1.0
	for i := 60; i <= 120; i++ {
		p := th.Probability(epoch.Add(time.Duration(i) * time.Second))
		require.LessOrEqual(t, p, last, "second %d", i)
		last = p
	}
	assert.Zero(t, last, "all is forgotten after the window and a step")
	assert.True(t, th.Admit(epoch.Add(2*time.Minute), 0))
}

// In the long run a callee that accepts a share a of what it is sent, below
// 1/k, gets about k times what it accepts: that is what the formula is for.
func TestSettlesAtKTimesWhatIsAccepted(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	th := newThrottle(t, 2, 10*time.Second)
	sent := 0
	const perSecond, capacity, seconds = 1000, 200, 60
	for second := range seconds {
		left := capacity
		for i := range perSecond {
			now := epoch.Add(time.Duration(second)*time.Second + time.Duration(i)*time.Millisecond)
			if !th.Admit(now, random.Float64()) {
				continue
			}
			if second >= seconds/2 {
				sent++
			}
			if left > 0 {
				left--
				th.Accept(now)
			}
		}
	}
	assert.InEpsilon(t, 2*capacity, float64(sent)/(seconds/2), 0.05)
}

func TestResetForgets(t *testing.T) {
	th := newThrottle(t, 2, time.Minute)
	for range 10 {
		th.Admit(epoch, 0)
	}
	th.Reset()
	assert.Zero(t, th.Probability(epoch))
}

func TestCountsEveryRequestOfManyGoroutines(t *testing.T) {
	th := newThrottle(t, 1, time.Minute)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				if th.Admit(epoch, 0.9) {
					admitted.Add(1)
					th.Accept(epoch)
				}
			}
		})
	}
	wg.Wait()
	accepts := float64(admitted.Load())
	assert.Equal(t, max(0, (4000-accepts)/4001), th.Probability(epoch))
}

func TestValidateNamesEveryFault(t *testing.T) {
	_, err := throttle.New(throttle.Config{K: 0.5, Window: time.Millisecond})
	assert.EqualError(t, err, "k: 0.5 is not in 1 … 1000\nwindow: 1ms is shorter than 60ms")
}
