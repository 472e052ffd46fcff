package breaker_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// subject is a breaker with or without its lock.
type subject interface {
	Acquire(time.Time) (breaker.Permit, breaker.Change, bool)
	Done(breaker.Permit, breaker.Result, time.Time) (bool, breaker.Change)
	Force(breaker.State, time.Time) breaker.Change
	State() breaker.State
	Counts(time.Time) breaker.Counts
}

// reference is a breaker written to be read: it keeps every result of the
// present state, and counts them anew for each question.
type reference struct {
	breaker.Config
	state  breaker.State
	begun  int // how many states have begun, the present one included
	change breaker.Change

	results []result      // while closed
	until   time.Time     // while open
	opened  int           // since it was closed last
	probes  []*permission // that run, oldest first
	good    int           // probes that succeeded
	slow    int           // of those
}

type result struct {
	at           time.Time
	failed, slow bool
}

// permission is a permit as the reference knows it.
type permission struct {
	begun   int
	at      time.Time
	real    breaker.Permit
	returns int
}

func (r *reference) become(s breaker.State, now time.Time) {
	r.change = breaker.Change{Seq: r.change.Seq + 1, From: r.state, To: s, At: now}
	r.state = s
	r.begin()
}

func (r *reference) begin() {
	r.begun++
	r.results, r.probes, r.good, r.slow = nil, nil, 0, 0
}

func (r *reference) acquire(now time.Time) *permission {
	p := &permission{begun: r.begun, at: now}
	switch r.state {
	case breaker.Closed, breaker.Disabled:
		return p
	case breaker.ForcedOpen:
		return nil
	case breaker.Open:
		if now.Before(r.until) {
			return nil
		}
		r.become(breaker.HalfOpen, now)
		p.begun = r.begun
	}
	if len(r.probes)+r.good >= r.HalfOpen.Calls {
		if r.HalfOpen.MaxWait == 0 || len(r.probes) == 0 || now.Sub(r.probes[0].at) < r.HalfOpen.MaxWait {
			return nil
		}
		r.probes = r.probes[1:]
	}
	r.probes = append(r.probes, p)
	return p
}

func (r *reference) done(p *permission, verdict breaker.Verdict, took time.Duration, now time.Time) bool {
	if p.begun != r.begun {
		return false
	}
	slow := r.SlowCall.Over > 0 && took > r.SlowCall.Over
	switch r.state {
	case breaker.Closed:
		if verdict == breaker.Neutral {
			return false
		}
		r.results = append(r.results, result{now, verdict == breaker.Failure, slow})
		if r.tripped(now) {
			r.open(now)
		}
		return true
	case breaker.HalfOpen:
		i := slices.Index(r.probes, p)
		if i < 0 {
			return false
		}
		r.probes = slices.Delete(r.probes, i, i+1)
		switch verdict {
		case breaker.Neutral:
			return false
		case breaker.Failure:
			r.open(now)
			return true
		}
		r.good++
		if slow {
			r.slow++
		}
		switch {
		case r.good < r.HalfOpen.Calls:
		case r.slow > 0 && float64(r.slow)/float64(r.good) >= r.SlowCall.Rate:
			r.open(now)
		default:
			r.opened = 0
			r.become(breaker.Closed, now)
		}
		return true
	}
	return false
}

func (r *reference) tripped(now time.Time) bool {
	c := r.counts(now)
	if r.Window.Consecutive > 0 {
		return c.Consecutive >= r.Window.Consecutive
	}
	if c.Total < r.MinCalls {
		return false
	}
	total := float64(c.Total)
	return float64(c.Failures)/total >= r.FailureRate ||
		r.SlowCall.Over > 0 && float64(c.Slow)/total >= r.SlowCall.Rate
}

func (r *reference) open(now time.Time) {
	longest := r.OpenFor.Max
	if longest == 0 {
		longest = 24 * time.Hour
	}
	open := r.OpenFor.Initial
	for range r.opened {
		if r.OpenFor.Multiplier > 1 {
			open = min(time.Duration(float64(open)*r.OpenFor.Multiplier), longest)
		}
	}
	r.opened++
	r.until = now.Add(open)
	r.become(breaker.Open, now)
}

func (r *reference) force(s breaker.State, now time.Time) {
	switch s {
	case breaker.HalfOpen:
		return
	case breaker.Open:
		s = breaker.ForcedOpen
	}
	r.opened = 0
	if s == r.state {
		r.begin()
		return
	}
	r.become(s, now)
}

func (r *reference) counts(now time.Time) breaker.Counts {
	var c breaker.Counts
	for i, x := range r.results {
		if x.failed {
			c.Consecutive++
		} else {
			c.Consecutive = 0
			if r.Window.Consecutive > 0 { // holds what failed since
				c = breaker.Counts{}
				continue
			}
		}
		if n := r.Window.Calls; n > 0 && i < len(r.results)-n || r.Window.Time > 0 && now.Sub(x.at) > r.Window.Time {
			continue // forgotten
		}
		c.Total++
		if x.failed {
			c.Failures++
		}
		if x.slow {
			c.Slow++
		}
	}
	return c
}

// drawConfig draws a small breaker, so that a sequence meets all its states.
func drawConfig(t *rapid.T) breaker.Config {
	ms := func(low, high int, name string) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * time.Millisecond
	}
	c := breaker.Config{
		OpenFor:  breaker.OpenFor{Initial: ms(1, 40, "openFor")},
		HalfOpen: breaker.Probes{Calls: rapid.IntRange(1, 4).Draw(t, "halfOpen.calls")},
	}
	if rapid.Bool().Draw(t, "grows") {
		c.OpenFor.Multiplier = rapid.SampledFrom([]float64{1, 1.5, 2, 4}).Draw(t, "multiplier")
		c.OpenFor.Max = c.OpenFor.Initial * time.Duration(rapid.IntRange(1, 9).Draw(t, "openFor.max"))
	}
	if rapid.Bool().Draw(t, "waits") {
		c.HalfOpen.MaxWait = ms(1, 30, "maxWait")
	}
	kind := rapid.SampledFrom([]string{"calls", "time", "consecutive"}).Draw(t, "window")
	if kind == "consecutive" {
		c.Window.Consecutive = rapid.IntRange(1, 4).Draw(t, "consecutive")
		return c
	}
	rates := rapid.SampledFrom([]float64{0.01, 0.25, 0.5, 0.75, 0.75, 1, 1})
	c.FailureRate = rates.Draw(t, "failureRate")
	most := 6
	if kind == "calls" {
		c.Window.Calls = rapid.IntRange(1, 6).Draw(t, "calls")
		most = c.Window.Calls
	} else {
		c.Window.Time = 10 * time.Millisecond // ten steps of a millisecond
	}
	c.MinCalls = rapid.IntRange(1, most).Draw(t, "minCalls")
	if rapid.Bool().Draw(t, "slow") {
		c.SlowCall = breaker.SlowCall{Over: 10 * time.Millisecond, Rate: rates.Draw(t, "slowCall.rate")}
	}
	return c
}

func TestMachineBehavesLikeTheReference(t *testing.T) {
	againstReference(t, func(c breaker.Config) (subject, error) {
		m := breaker.NewMachine(c)
		return &m, c.Validate()
	})
}

func TestBreakerBehavesLikeTheReference(t *testing.T) {
	againstReference(t, func(c breaker.Config) (subject, error) { return breaker.New(c) })
}

func againstReference(t *testing.T, make func(breaker.Config) (subject, error)) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		b, err := make(c)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		r := &reference{Config: c, begun: 1}
		now := epoch
		var permits []*permission
		told := breaker.Change{To: breaker.Closed}

		agrees := func(t *rapid.T) {
			if b.State() != r.state {
				t.Fatalf("state is %s, the reference's %s", b.State(), r.state)
			}
			if got, want := b.Counts(now), r.counts(now); got != want {
				t.Fatalf("counts are %+v, the reference's %+v", got, want)
			}
			if n := len(r.probes); n > c.HalfOpen.Calls {
				t.Fatalf("%d probes run at once", n)
			}
		}
		// heard compares the change that an operation returned with the one
		// that the reference made by it.
		heard := func(change breaker.Change, before uint64) {
			switch {
			case r.change.Seq == before && change.Happened():
				t.Fatalf("%+v was told, the reference changed nothing", change)
			case r.change.Seq != before && change != r.change:
				t.Fatalf("%+v was told, the reference made %+v", change, r.change)
			case !change.Happened():
				return
			}
			if change.Seq != told.Seq+1 || change.From != told.To {
				t.Fatalf("%+v does not follow %+v", change, told)
			}
			told = change
		}
		finish := func(t *rapid.T, p *permission, verdict breaker.Verdict) {
			p.returns++
			took := time.Duration(rapid.SampledFrom([]int{0, 10, 11}).Draw(t, "took")) * time.Millisecond
			before := r.change.Seq
			want := r.done(p, verdict, took, now)
			counted, change := b.Done(p.real, breaker.Result{Verdict: verdict, Duration: took}, now)
			if counted != want {
				t.Fatalf("counted is %v, the reference says %v", counted, want)
			}
			heard(change, before)
		}
		some := func(verdict breaker.Verdict) func(*rapid.T) {
			return func(t *rapid.T) {
				if len(permits) == 0 {
					t.Skip("no permit was granted yet")
				}
				// The last ones mostly, so that many belong to the present state;
				// one that was returned is returned again.
				p := permits[max(len(permits)-1-rapid.IntRange(0, 7).Draw(t, "permit"), 0)]
				if p.returns > 0 && r.state == breaker.Closed && p.begun == r.begun {
					t.Skip("a closed breaker trusts that a permit comes back once")
				}
				finish(t, p, verdict)
			}
		}
		acquire := func(t *rapid.T) *permission {
			before := r.change.Seq
			want := r.acquire(now)
			p, change, ok := b.Acquire(now)
			if ok != (want != nil) {
				t.Fatalf("granted is %v, the reference says %v", ok, want != nil)
			}
			heard(change, before)
			if ok {
				want.real = p
				permits = append(permits, want)
			}
			return want
		}
		verdicts := rapid.SampledFrom([]breaker.Verdict{breaker.Neutral, breaker.Success, breaker.Success, breaker.Failure})
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) { acquire(t) },
			"succeed": some(breaker.Success),
			"fail":    some(breaker.Failure),
			"neutral": some(breaker.Neutral),
			"calls": func(t *rapid.T) {
				well := rapid.Bool().Draw(t, "all well")
				for range rapid.IntRange(1, 9).Draw(t, "calls") {
					if p := acquire(t); p != nil {
						verdict := breaker.Success
						if !well {
							verdict = verdicts.Draw(t, "verdict")
						}
						finish(t, p, verdict)
					}
					agrees(t)
				}
			},
			"probes fail": func(t *rapid.T) {
				for range rapid.IntRange(1, 5).Draw(t, "times") {
					if r.state != breaker.Open {
						t.Skip("is not open")
					}
					now = later(now, r.until)
					finish(t, acquire(t), breaker.Failure)
					agrees(t)
				}
			},
			"no permit": func(t *rapid.T) {
				if counted, change := b.Done(breaker.Permit{}, failure, now); counted || change.Happened() {
					t.Fatalf("the zero permit counted")
				}
			},
			"time": func(t *rapid.T) {
				// Whole milliseconds: on the steps of a window of time.
				now = now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "ms")) * time.Millisecond)
			},
			"a moment": func(t *rapid.T) {
				if c.Window.Time == 0 {
					now = now.Add(time.Duration(rapid.IntRange(1, 2).Draw(t, "ns")))
				}
			},
			"until it may half-open": func(t *rapid.T) {
				if r.state != breaker.Open || !now.Before(r.until) {
					t.Skip("is not open")
				}
				now = later(now, r.until)
				if c.Window.Time == 0 && rapid.Bool().Draw(t, "just before") {
					now = now.Add(-1)
				}
			},
			"force": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
					t.Skip("or it would see nothing else")
				}
				s := rapid.SampledFrom([]breaker.State{breaker.Closed, breaker.Closed, breaker.Open, breaker.ForcedOpen, breaker.Disabled, breaker.HalfOpen}).Draw(t, "state")
				before := r.change.Seq
				r.force(s, now)
				heard(b.Force(s, now), before)
			},
			"": agrees,
		})
	})
}

// later is the later one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// kinds are a breaker of each kind of window that opens at the third failure
// at the latest, and has a minCalls that would delay a decision.
func kinds() map[string]breaker.Config {
	with := func(w breaker.Window) breaker.Config {
		return breaker.Config{
			Window: w, FailureRate: 0.5, MinCalls: 3,
			OpenFor: breaker.OpenFor{Initial: time.Second}, HalfOpen: breaker.Probes{Calls: 1},
		}
	}
	consecutive := with(breaker.Window{Consecutive: 3})
	consecutive.FailureRate, consecutive.MinCalls = 0, 0
	return map[string]breaker.Config{
		"calls": with(breaker.Window{Calls: 5}), "time": with(breaker.Window{Time: time.Minute}), "consecutive": consecutive,
	}
}

// open returns a shared breaker that has opened at epoch.
func open(t *testing.T, c breaker.Config) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New(c)
	require.NoError(t, err)
	for b.State() == breaker.Closed {
		p, _, ok := b.Acquire(epoch)
		require.True(t, ok)
		b.Done(p, failure, epoch)
	}
	require.Equal(t, breaker.Open, b.State())
	return b
}

// race lets 50 callers ask at the same instant. It returns the permits they
// got and how many were told of a change.
func race(b *breaker.Breaker, now time.Time) ([]breaker.Permit, int) {
	var mu sync.Mutex
	var permits []breaker.Permit
	changes := 0
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 50 {
		wg.Go(func() {
			<-start
			p, change, ok := b.Acquire(now)
			mu.Lock()
			defer mu.Unlock()
			if ok {
				permits = append(permits, p)
			}
			if change.Happened() {
				changes++
			}
		})
	}
	close(start)
	wg.Wait()
	return permits, changes
}

func TestFiftyRacingCallersNeverGetMoreThanTheProbes(t *testing.T) {
	for name, c := range kinds() {
		for calls := 1; calls <= 5; calls++ {
			t.Run(fmt.Sprintf("%s, %d probes", name, calls), func(t *testing.T) {
				c.HalfOpen = breaker.Probes{Calls: calls, MaxWait: time.Minute}
				b := open(t, c)
				now := epoch.Add(time.Second)
				lost, changes := race(b, now)
				assert.Len(t, lost, calls)
				assert.Equal(t, 1, changes, "one of them half-opens it")

				none, changes := race(b, now.Add(time.Minute-1))
				assert.Empty(t, none, "slow probes keep all others out")
				assert.Zero(t, changes)

				now = now.Add(time.Minute)
				probes, changes := race(b, now)
				assert.Len(t, probes, calls, "each of them is replaced once")
				assert.Zero(t, changes)
				for _, p := range lost {
					counted, change := b.Done(p, failure, now)
					assert.False(t, counted)
					assert.False(t, change.Happened())
				}
				for i, p := range probes {
					counted, change := b.Done(p, success, now)
					assert.True(t, counted)
					assert.Equal(t, i == calls-1, change.Happened())
				}
				assert.Equal(t, breaker.Closed, b.State())
			})
		}
	}
}

func TestWithoutMaxWaitASlowProbeKeepsTheOthersOutForEver(t *testing.T) {
	for name, c := range kinds() {
		b := open(t, c)
		_, _, ok := b.Acquire(epoch.Add(time.Second))
		require.True(t, ok)
		_, _, ok = b.Acquire(epoch.Add(10000 * time.Hour))
		assert.False(t, ok, name)
	}
}

func TestNeutralProbesReturnTheirPermitsAndDecideNothing(t *testing.T) {
	for name, c := range kinds() {
		c.HalfOpen.Calls = 2
		b := open(t, c)
		now := epoch.Add(time.Second)
		for range 20 {
			first, _, ok := b.Acquire(now)
			require.True(t, ok, name)
			second, _, ok := b.Acquire(now)
			require.True(t, ok, name)
			_, _, ok = b.Acquire(now)
			require.False(t, ok, name)
			for _, p := range []breaker.Permit{first, second} {
				counted, change := b.Done(p, neutral, now)
				assert.False(t, counted, name)
				assert.False(t, change.Happened(), name)
			}
			assert.Equal(t, breaker.HalfOpen, b.State(), name)
		}
	}
}

func TestOneProbeDecidesWhateverWindowAndMinCallsSay(t *testing.T) {
	for name, c := range kinds() {
		for want, r := range map[breaker.State]breaker.Result{breaker.Open: failure, breaker.Closed: success} {
			b := open(t, c)
			p, _, ok := b.Acquire(epoch.Add(time.Second))
			require.True(t, ok)
			counted, change := b.Done(p, r, epoch.Add(time.Second))
			assert.True(t, counted, name)
			assert.Equal(t, breaker.Change{Seq: 3, From: breaker.HalfOpen, To: want, At: epoch.Add(time.Second)}, change, name)
		}
	}
}

// A permit of each state, returned after each way to leave it.
func TestResultOfAnyEarlierStateChangesNothing(t *testing.T) {
	later := epoch.Add(time.Second)
	for name, c := range kinds() {
		c.HalfOpen.Calls = 2
		// fresh returns a breaker in a state, with a permit of it that is out.
		fresh := func(s breaker.State) (*breaker.Breaker, breaker.Permit) {
			b := open(t, c)
			if s != breaker.HalfOpen {
				b.Force(s, epoch)
			}
			p, _, ok := b.Acquire(later)
			require.True(t, ok)
			return b, p
		}
		leave := map[breaker.State]map[string]func(*breaker.Breaker){
			breaker.Closed: {
				"opened": func(b *breaker.Breaker) {
					for b.State() == breaker.Closed {
						p, _, _ := b.Acquire(later)
						b.Done(p, failure, later)
					}
				},
				"half-opened": func(b *breaker.Breaker) {
					for b.State() == breaker.Closed {
						p, _, _ := b.Acquire(epoch)
						b.Done(p, failure, epoch)
					}
					b.Acquire(later)
				},
			},
			breaker.HalfOpen: {
				"re-opened": func(b *breaker.Breaker) {
					p, _, _ := b.Acquire(later)
					b.Done(p, failure, later)
				},
				"half-open again": func(b *breaker.Breaker) {
					p, _, _ := b.Acquire(later)
					b.Done(p, failure, later)
					b.Acquire(later.Add(time.Second))
				},
			},
			breaker.Disabled: {},
		}
		for from, ways := range leave {
			ways["closed by force"] = func(b *breaker.Breaker) { b.Force(breaker.Closed, later) }
			ways["opened by force"] = func(b *breaker.Breaker) { b.Force(breaker.Open, later) }
			ways["disabled by force"] = func(b *breaker.Breaker) { b.Force(breaker.Disabled, later) }
			for way, leave := range ways {
				b, stale := fresh(from)
				leave(b)
				state, counts := b.State(), b.Counts(later)
				for _, r := range []breaker.Result{success, failure, neutral, success, failure} {
					counted, change := b.Done(stale, r, later)
					assert.False(t, counted, "%s: %s, then %s", name, from, way)
					assert.False(t, change.Happened(), "%s: %s, then %s", name, from, way)
				}
				assert.Equal(t, state, b.State(), "%s: %s, then %s", name, from, way)
				assert.Equal(t, counts, b.Counts(later), "%s: %s, then %s", name, from, way)
			}
		}
	}
}

func TestManyFailuresAtOnceOpenItOnceAndTheRestDoNotCount(t *testing.T) {
	const inFlight = 50
	for name, c := range kinds() {
		b, err := breaker.New(c)
		require.NoError(t, err)
		var permits []breaker.Permit
		for range inFlight {
			p, _, ok := b.Acquire(epoch)
			require.True(t, ok, "a closed breaker bounds nothing")
			permits = append(permits, p)
		}
		var counted, changes atomic.Int32
		var wg sync.WaitGroup
		for _, p := range permits {
			wg.Go(func() {
				ok, change := b.Done(p, failure, epoch)
				if ok {
					counted.Add(1)
				}
				if change.Happened() {
					changes.Add(1)
				}
			})
		}
		wg.Wait()
		assert.EqualValues(t, 3, counted.Load(), "%s: those that open it, and no more", name)
		assert.EqualValues(t, 1, changes.Load(), name)
		assert.Equal(t, breaker.Open, b.State(), name)
		assert.Zero(t, b.Counts(epoch), "%s: the rest is in no window", name)
		_, _, ok := b.Acquire(epoch.Add(time.Second - 1))
		assert.False(t, ok, "%s: it opened once, for one open time", name)
		_, _, ok = b.Acquire(epoch.Add(time.Second))
		assert.True(t, ok, name)
	}
}

// Callers that start, end and force at once: what they are told is one
// unbroken chain of changes.
func TestChangesOfRacingCallersAreOneChain(t *testing.T) {
	c := kinds()["consecutive"]
	c.OpenFor.Initial = 1
	b, err := breaker.New(c)
	require.NoError(t, err)
	var clock atomic.Int64
	var mu sync.Mutex
	var seen []breaker.Change
	tell := func(change breaker.Change) {
		if change.Happened() {
			mu.Lock()
			seen = append(seen, change)
			mu.Unlock()
		}
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				now := epoch.Add(time.Duration(clock.Add(1)))
				if (i+worker)%500 == 0 {
					tell(b.Force(breaker.Closed, now))
				}
				p, change, ok := b.Acquire(now)
				tell(change)
				if !ok {
					continue
				}
				r := failure
				if (i*7+worker)%5 == 0 {
					r = success
				}
				_, change = b.Done(p, r, now)
				tell(change)
			}
		})
	}
	wg.Wait()
	slices.SortFunc(seen, func(a, b breaker.Change) int { return int(a.Seq) - int(b.Seq) })
	require.NotEmpty(t, seen)
	last := breaker.Closed
	for i, change := range seen {
		require.EqualValues(t, i+1, change.Seq)
		require.Equal(t, last, change.From, "change %d", i+1)
		require.NotEqual(t, change.From, change.To)
		last = change.To
	}
	assert.Equal(t, last, b.State())
}
