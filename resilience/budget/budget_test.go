package budget_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience/budget"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var epoch = time.Unix(1_000_000, 0)

func newBudget(t *testing.T, c budget.Config) budget.Budget {
	t.Helper()
	b, err := budget.New(c)
	require.NoError(t, err)
	return b
}

// fail makes one request at now of which every attempt fails, up to this many
// retries. It returns how many the budget allowed.
func fail(b budget.Budget, now time.Time, most int, timeouts bool) int {
	b.Begin(now)
	b.Fail()
	var last budget.Cost
	retries := 0
	for retries < most {
		cost, ok := b.Spend(now, timeouts)
		if !ok {
			break
		}
		retries++
		last = cost
		b.Fail()
		b.Done(cost)
	}
	b.End(false, last)
	return retries
}

// succeed makes one request that succeeds at its first attempt.
func succeed(b budget.Budget, now time.Time) {
	b.Begin(now)
	b.End(true, 0)
}

func window(ratio, minPerSecond float64, ttl time.Duration) budget.Config {
	return budget.Config{Kind: budget.Window, Ratio: ratio, MinPerSecond: minPerSecond, TTL: ttl}
}

// At 100 % failure a window without a minimum comes to 1 + ratio calls a
// request, at each ratio: nothing is cut to a whole number on the way.
func TestWindowComesToItsRatioAndNotAbove(t *testing.T) {
	for tenths := 1; tenths <= 10; tenths++ {
		ratio := float64(tenths) / 10
		b := newBudget(t, window(ratio, 0, 10*time.Second))
		const requests = 12_000 // 100 a second, for two minutes
		retries := 0
		for i := range requests {
			retries += fail(b, epoch.Add(time.Duration(i)*10*time.Millisecond), 2, true)
		}
		amplification := 1 + float64(retries)/requests
		assert.LessOrEqual(t, amplification, 1+ratio+1e-12, "ratio %v", ratio)
		assert.InEpsilon(t, 1+ratio, amplification, 0.01, "ratio %v", ratio)
	}
}

// The whole bound of the doc comment of Window, over every interval of a
// random load.
func TestWindowNeverExceedsItsBoundInAnyInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := window(
			float64(rapid.IntRange(0, 30).Draw(t, "ratio/20"))/20,
			float64(rapid.IntRange(0, 8).Draw(t, "minPerSecond/2"))/2,
			time.Duration(rapid.IntRange(10, 4000).Draw(t, "ttl"))*time.Millisecond)
		b, err := budget.New(c)
		if err != nil {
			t.Fatal(err)
		}
		reserve := c.MinPerSecond * c.TTL.Seconds()
		type burst struct {
			at                time.Time
			requests, retries float64
		}
		var bursts []burst
		now := epoch
		for range rapid.IntRange(1, 40).Draw(t, "bursts") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(c.TTL)*3/2).Draw(t, "pause")))
			x := burst{at: now}
			for range rapid.IntRange(1, 20).Draw(t, "requests") {
				x.requests++
				x.retries += float64(fail(b, now, rapid.IntRange(0, 20).Draw(t, "retries"), false))
			}
			bursts = append(bursts, x)
			if left := b.Balance(now); left < -float64(len(bursts)*20)*c.Ratio-reserve || left > x.requests*float64(len(bursts)*20)+reserve {
				t.Fatalf("the balance is %v", left)
			}
		}
		for i := range bursts {
			var spent float64
			for j := i; j < len(bursts); j++ {
				spent += bursts[j].retries
				span := bursts[j].at.Sub(bursts[i].at)
				var requests, all float64
				for _, x := range bursts[:j+1] {
					all += x.requests
					if bursts[i].at.Sub(x.at) <= c.TTL+c.TTL/10+10 {
						requests += x.requests
					}
				}
				ttls := max(1, math.Ceil(float64(span)/float64(c.TTL)))
				if bound := c.Ratio*requests + reserve*ttls; spent > bound+1e-6 {
					t.Fatalf("%v retries in %v, the bound is %v", spent, span, bound)
				}
				if bound := c.Ratio*all + c.MinPerSecond*(span+c.TTL).Seconds(); i == 0 && spent > bound+1e-6 {
					t.Fatalf("%v retries in the first %v, the bound is %v", spent, span, bound)
				}
			}
		}
	})
}

// The reserve of the bound is real: it may be spent at once, and again one
// ttl and a step later, but not before.
func TestWindowReserveIsSpentAtOnceAndComesBackAfterItsTTL(t *testing.T) {
	b := newBudget(t, window(0, 10, 10*time.Second))
	assert.Equal(t, 100, fail(b, epoch, 1000, false))
	assert.Zero(t, fail(b, epoch.Add(10*time.Second), 1000, false))
	assert.Equal(t, 100, fail(b, epoch.Add(11*time.Second), 1000, false))
}

func TestWindowAlwaysAllowsItsMinimum(t *testing.T) {
	b := newBudget(t, window(0, 5, 2*time.Second))
	retries := 0
	for i := range 6000 { // a minute
		retries += fail(b, epoch.Add(time.Duration(i)*10*time.Millisecond), 1, false)
	}
	assert.GreaterOrEqual(t, retries, 60*5*10/11, "a withdrawal is remembered for 1.1 ttl at most")
	assert.LessOrEqual(t, retries, (60+2)*5)
}

func TestWindowForgetsWhatWasNotSpent(t *testing.T) {
	b := newBudget(t, window(0.5, 0, 10*time.Second))
	for range 100 {
		succeed(b, epoch)
	}
	assert.EqualValues(t, 50, b.Balance(epoch.Add(10*time.Second)))
	assert.Zero(t, b.Balance(epoch.Add(11*time.Second)))
}

func TestTokensFromFullAllowHalfLessOne(t *testing.T) {
	maxima := []float64{1.5, 2.5, 9.9, 10.1, 99.999999, 1001}
	for i := 1; i <= 100; i++ {
		maxima = append(maxima, float64(i))
	}
	for _, limit := range maxima {
		want := int(math.Ceil(limit/2)) - 1
		for _, most := range []int{1, 2, 1 << 30} { // in one request or in many
			b := newBudget(t, budget.Config{Kind: budget.Tokens, Max: limit, Ratio: 0.1})
			got := 0
			for range int(limit) + 10 {
				got += fail(b, epoch, most, false)
			}
			// A failed request drains it too, whether or not it could retry: where
			// requests may retry once only, every retry costs two tokens.
			if most == 1<<30 {
				require.Equal(t, want, got, "max %v", limit)
			}
			require.LessOrEqual(t, got, want, "max %v, %d retries a request", limit, most)
			require.Zero(t, fail(b, epoch, most, false), "max %v: and then none", limit)
		}
	}
}

func TestTokensComeBackWithSuccesses(t *testing.T) {
	b := newBudget(t, budget.Default(budget.Tokens))
	for range 100 {
		fail(b, epoch, 1, false)
	}
	assert.Zero(t, b.Balance(epoch), "never below 0")
	for range 50 {
		succeed(b, epoch)
	}
	assert.EqualValues(t, 5, b.Balance(epoch), "50 × 0.1, to the token")
	_, ok := b.Spend(epoch, false)
	assert.False(t, ok, "half is not more than half")
	succeed(b, epoch)
	_, ok = b.Spend(epoch, false)
	assert.True(t, ok)
	for range 1000 {
		succeed(b, epoch)
	}
	assert.EqualValues(t, 10, b.Balance(epoch), "never above its maximum")
}

func TestQuotaFromFullAllowsCapacityOverCost(t *testing.T) {
	for _, c := range []struct {
		capacity, cost, timeoutCost float64
	}{{500, 5, 10}, {500, 7, 11}, {1, 1, 2}, {1, 0.1, 0.3}, {100, 0.7, 100}, {3, 4, 5}} {
		for timeouts, cost := range map[bool]float64{false: c.cost, true: c.timeoutCost} {
			for _, most := range []int{1, 2, 1 << 30} {
				b := newBudget(t, budget.Config{Kind: budget.Quota, Capacity: c.capacity, Cost: c.cost, TimeoutCost: c.timeoutCost})
				want := int(math.Round(c.capacity*1e6)) / int(math.Round(cost*1e6))
				got := 0
				for range want + 10 {
					got += fail(b, epoch, most, timeouts)
				}
				require.Equal(t, want, got, "%+v, after timeouts: %v", c, timeouts)
			}
		}
	}
}

func TestQuotaComesBackWithSuccesses(t *testing.T) {
	b := newBudget(t, budget.Default(budget.Quota))
	for range 200 {
		fail(b, epoch, 1, true)
	}
	assert.Zero(t, b.Balance(epoch), "50 retries after timeouts took 10 each")
	_, ok := b.Spend(epoch, false)
	assert.False(t, ok)
	for range 5 {
		succeed(b, epoch)
	}
	assert.EqualValues(t, 5, b.Balance(epoch), "a success without a retry gives 1")

	b.Begin(epoch)
	cost, ok := b.Spend(epoch, false)
	require.True(t, ok)
	b.Done(cost)
	assert.Zero(t, b.Balance(epoch))
	b.End(true, cost)
	assert.EqualValues(t, 5, b.Balance(epoch), "one with a retry gives back what that took")
	for range 1000 {
		succeed(b, epoch)
	}
	assert.EqualValues(t, 500, b.Balance(epoch), "never above its capacity")
}

// Whatever happens, in whatever order, a purse stays between 0 and its maximum.
func TestBalancesAreClampedAtBothEnds(t *testing.T) {
	for _, c := range []budget.Config{budget.Default(budget.Tokens), budget.Default(budget.Quota), {Kind: budget.Quota, Capacity: 3, Cost: 2.5, TimeoutCost: 1000}} {
		rapid.Check(t, func(t *rapid.T) {
			b, err := budget.New(c)
			if err != nil {
				t.Fatal(err)
			}
			most := b.Balance(epoch)
			var last budget.Cost
			t.Repeat(map[string]func(*rapid.T){
				"fail":    func(*rapid.T) { b.Fail() },
				"succeed": func(*rapid.T) { b.End(true, last) },
				"spend": func(t *rapid.T) {
					if cost, ok := b.Spend(epoch, rapid.Bool().Draw(t, "timeout")); ok {
						last = cost
					}
				},
				"": func(t *rapid.T) {
					if has := b.Balance(epoch); has < 0 || has > most {
						t.Fatalf("the balance is %v of %v", has, most)
					}
				},
			})
		})
	}
}

func TestConcurrencyNeverAllowsMoreThanItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := budget.Config{
			Kind: budget.Concurrency, Percent: float64(rapid.IntRange(0, 100).Draw(t, "percent")), Min: rapid.IntRange(0, 4).Draw(t, "min"),
		}
		b, err := budget.New(c)
		if err != nil {
			t.Fatal(err)
		}
		requests, active := 0, 0
		allowed := func() int { return max(c.Min, int(c.Percent)*requests/100) } // in whole numbers
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "requests") {
					b.Begin(epoch)
					requests++
				}
			},
			"end": func(t *rapid.T) {
				if requests > active {
					b.End(rapid.Bool().Draw(t, "success"), 0)
					requests--
				}
			},
			"spend": func(t *rapid.T) {
				_, ok := b.Spend(epoch, false)
				if want := active < allowed(); ok != want {
					t.Fatalf("granted is %v with %d of %d active", ok, active, allowed())
				}
				if ok {
					active++
				}
			},
			"done": func(*rapid.T) {
				if active > 0 {
					b.Done(0)
					active--
				}
			},
			"reset": func(*rapid.T) { b.Reset() }, // what runs goes on being counted
			"": func(t *rapid.T) {
				if got := b.Balance(epoch); got != float64(max(allowed()-active, 0)) {
					t.Fatalf("the balance is %v, with %d of %d active", got, active, allowed())
				}
			},
		})
	})
}

// In floating point 29 / 100 × 100 is below 29.
func TestConcurrencyLosesNoRetryToRounding(t *testing.T) {
	for percent := range 101 {
		b := newBudget(t, budget.Config{Kind: budget.Concurrency, Percent: float64(percent)})
		for requests := 1; requests <= 300; requests++ {
			b.Begin(epoch)
			require.EqualValues(t, percent*requests/100, b.Balance(epoch), "%d %% of %d", percent, requests)
		}
	}
}

// retryLoad simulates requests that arrive evenly, whose attempts all take the
// same time and fail, with as many retries as the budget allows. It returns
// the calls a request.
func retryLoad(b budget.Budget, requests int, every, latency time.Duration, most int) float64 {
	type ending struct {
		at      time.Time
		retries int
		retry   bool
	}
	var queue []ending // in order, as all take the same time
	calls := 0
	step := func(e ending) {
		if e.retry {
			b.Done(0)
		}
		b.Fail()
		if e.retries < most {
			if _, ok := b.Spend(e.at, false); ok {
				calls++
				queue = append(queue, ending{e.at.Add(latency), e.retries + 1, true})
				return
			}
		}
		b.End(false, 0)
	}
	for i := range requests {
		now := epoch.Add(time.Duration(i) * every)
		for len(queue) > 0 && !queue[0].at.After(now) {
			e := queue[0]
			queue = queue[1:]
			step(e)
		}
		b.Begin(now)
		calls++
		queue = append(queue, ending{at: now.Add(latency)})
	}
	return float64(calls) / float64(requests)
}

func TestConcurrencyBoundsCallsByItsShareOfWhatRuns(t *testing.T) {
	for _, percent := range []float64{5, 10, 20, 25, 50, 75} {
		b := newBudget(t, budget.Config{Kind: budget.Concurrency, Percent: percent})
		got := retryLoad(b, 30_000, time.Millisecond, time.Second, 100)
		bound := 1 / (1 - percent/100)
		assert.LessOrEqual(t, got, bound*1.001, "%v %%", percent)
		assert.Greater(t, got, 1+percent/100*0.9, "%v %%: it is used", percent)
		t.Logf("%v %%: %.3f calls a request, bound %.3f", percent, got, bound)
	}
}

func TestResetIsAsNew(t *testing.T) {
	for _, k := range budget.Kinds() {
		b := newBudget(t, budget.Default(k))
		full := b.Balance(epoch)
		for range 1000 {
			fail(b, epoch, 2, true)
		}
		b.Reset()
		assert.Equal(t, full, b.Balance(epoch), k)
	}
}

func TestBudgetsAreSafeForManyGoroutines(t *testing.T) {
	for _, k := range budget.Kinds() {
		c := budget.Default(k)
		c.Min = 0
		b := newBudget(t, c)
		full := b.Balance(epoch)
		var granted atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 500 {
					granted.Add(int64(fail(b, epoch, 2, false)))
					b.Balance(epoch)
				}
			})
		}
		wg.Wait()
		switch k {
		case budget.Window:
			assert.EqualValues(t, 4000*0.2+100, granted.Load(), "each is spent once")
			assert.Zero(t, b.Balance(epoch))
		case budget.Tokens:
			assert.LessOrEqual(t, granted.Load(), int64(4))
		case budget.Quota:
			assert.EqualValues(t, 100, granted.Load())
		case budget.Concurrency:
			assert.Equal(t, full, b.Balance(epoch), "all have ended")
		}
	}
}

func TestRegistrySharesByName(t *testing.T) {
	var r budget.Registry
	c := budget.Default(budget.Quota)
	one, err := r.Get(c)
	require.NoError(t, err)
	two, err := r.Get(c)
	require.NoError(t, err)
	assert.NotSame(t, one, two, "without a name it is nobody else's")

	c.Name = "all"
	var wg sync.WaitGroup
	got := make([]budget.Budget, 16)
	for i := range got {
		wg.Go(func() { got[i], _ = r.Get(c) })
	}
	wg.Wait()
	for _, b := range got {
		assert.Same(t, got[0], b)
	}
	fail(got[0], epoch, 1000, false)
	_, ok := got[1].Spend(epoch, false)
	assert.False(t, ok, "what one spends the other has not")

	other := c
	other.Name = "other"
	apart, err := r.Get(other)
	require.NoError(t, err)
	assert.NotSame(t, got[0], apart)

	c.Cost = 6
	_, err = r.Get(c)
	assert.EqualError(t, err, `budget "all" is in use with other settings`)
	_, err = r.Get(budget.Config{Kind: "x", Name: "new"})
	assert.ErrorContains(t, err, "kind: ")
	c.Name, c.Cost = "new", 5
	_, err = r.Get(c)
	assert.NoError(t, err, "an invalid budget takes no name")
}

func TestSettingsOfAnotherKindAreNoConflict(t *testing.T) {
	var r budget.Registry
	c := budget.Default(budget.Tokens)
	c.Name = "all"
	one, err := r.Get(c)
	require.NoError(t, err)
	c.TTL, c.Capacity = time.Second, 3 // of no meaning to tokens
	two, err := r.Get(c)
	require.NoError(t, err)
	assert.Same(t, one, two)
}

func TestValidateNamesEveryFaultAndItsRange(t *testing.T) {
	for want, c := range map[string]budget.Config{
		"ratio: -1 is not in 0 … 1000\nminPerSecond: NaN is not in 0 … 1000000\nttl: 1ms is not in 10ms … 1h": {
			Kind: budget.Window, Ratio: -1, MinPerSecond: math.NaN(), TTL: time.Millisecond,
		},
		"max: 0.5 is not in 1 … 1000000000\nratio: 0 is not in 0.000001 … 1000":                                                                     {Kind: budget.Tokens, Max: 0.5},
		"capacity: 2000000000 is not in 1 … 1000000000\ncost: 0 is not in 0.000001 … 1000000000\ntimeoutCost: +Inf is not in 0.000001 … 1000000000": {Kind: budget.Quota, Capacity: 2e9, TimeoutCost: math.Inf(1)},
		"percent: 101 is not in 0 … 100\nmin: -1 is not in 0 … 1000000":                                                                             {Kind: budget.Concurrency, Percent: 101, Min: -1},
		`kind: "windw" is none of window, tokens, quota, concurrency`:                                                                               {Kind: "windw"},
	} {
		_, err := budget.New(c)
		assert.EqualError(t, err, want)
	}
	for _, k := range budget.Kinds() {
		assert.NoError(t, budget.Default(k).Validate(), fmt.Sprint(k))
	}
}
