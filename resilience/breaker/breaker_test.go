package breaker_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrylab/retrylab/resilience/breaker"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	epoch   = time.Unix(1_000_000, 0)
	success = breaker.Result{Verdict: breaker.Success}
	failure = breaker.Result{Verdict: breaker.Failure}
	neutral = breaker.Result{Verdict: breaker.Neutral}
)

// published is the breaker of the published experiment.
func published() breaker.Config {
	return breaker.Config{
		Window: breaker.Window{Calls: 20}, FailureRate: 0.5, MinCalls: 10,
		OpenFor: breaker.OpenFor{Initial: 2 * time.Second}, HalfOpen: breaker.Probes{Calls: 4},
	}
}

// record passes one call with this result through a machine.
func record(t *testing.T, m *breaker.Machine, r breaker.Result, at time.Time) breaker.Change {
	t.Helper()
	p, change, ok := m.Acquire(at)
	require.True(t, ok, "a permit in state %s", m.State())
	_, after := m.Done(p, r, at)
	if after.Happened() {
		return after
	}
	return change
}

// opened returns a machine that has just opened at epoch.
func opened(t *testing.T, c breaker.Config) *breaker.Machine {
	t.Helper()
	m := breaker.NewMachine(c)
	for m.State() == breaker.Closed {
		record(t, &m, failure, epoch)
	}
	require.Equal(t, breaker.Open, m.State())
	return &m
}

func TestClosedOpensAtTheRateOnceThereAreEnoughCalls(t *testing.T) {
	m := breaker.NewMachine(published())
	for range 9 {
		assert.False(t, record(t, &m, failure, epoch).Happened(), "nine results are too few")
	}
	change := record(t, &m, success, epoch)
	assert.Equal(t, breaker.Change{Seq: 1, From: breaker.Closed, To: breaker.Open, At: epoch}, change, "9 of 10 failed")
}

func TestClosedStaysClosedBelowTheRate(t *testing.T) {
	m := breaker.NewMachine(published())
	for i := range 200 {
		r := success
		if i%20 < 9 {
			r = failure
		}
		if i < 20 && i%2 == 0 { // fill the first window mildly
			r = success
		}
		record(t, &m, r, epoch)
		require.Equal(t, breaker.Closed, m.State(), "after call %d", i+1)
	}
	assert.Equal(t, breaker.Counts{Total: 20, Failures: 9}, m.Counts(epoch))
}

func TestWindowOfConsecutiveFailures(t *testing.T) {
	c := published()
	c.Window, c.FailureRate, c.MinCalls = breaker.Window{Consecutive: 3}, 0, 0
	m := breaker.NewMachine(c)
	for _, r := range []breaker.Result{failure, failure, success, failure, neutral, failure} {
		require.False(t, record(t, &m, r, epoch).Happened())
	}
	assert.Equal(t, breaker.Open, record(t, &m, failure, epoch).To, "the third in a row, a neutral result aside")
}

func TestWindowOfTimeForgets(t *testing.T) {
	c := published()
	c.Window = breaker.Window{Time: 10 * time.Second}
	m := breaker.NewMachine(c)
	for i := range 9 {
		record(t, &m, failure, epoch.Add(time.Duration(i)*time.Millisecond))
	}
	later := epoch.Add(11 * time.Second)
	assert.Zero(t, m.Counts(later).Total)
	assert.False(t, record(t, &m, failure, later).Happened(), "the nine are forgotten")

	m = breaker.NewMachine(c)
	for i := range 9 {
		record(t, &m, failure, epoch.Add(time.Duration(i)*time.Second))
	}
	assert.Equal(t, breaker.Open, record(t, &m, failure, epoch.Add(9*time.Second)).To, "ten within ten seconds")
}

func TestOpenRefusesUntilItsTimeIsOver(t *testing.T) {
	m := opened(t, published())
	_, _, ok := m.Acquire(epoch.Add(2*time.Second - 1))
	assert.False(t, ok)
	_, change, ok := m.Acquire(epoch.Add(2 * time.Second))
	assert.True(t, ok)
	assert.Equal(t, breaker.HalfOpen, change.To)
}

func TestHalfOpenClosesAfterItsProbesSucceed(t *testing.T) {
	m := opened(t, published())
	later := epoch.Add(3 * time.Second)
	for i := range 3 {
		record(t, m, success, later)
		require.Equal(t, breaker.HalfOpen, m.State(), "after probe %d", i+1)
	}
	assert.Equal(t, breaker.Closed, record(t, m, success, later).To)
	assert.Zero(t, m.Counts(later).Total, "a closed breaker begins with an empty window")
}

func TestOneFailingProbeReopensWhateverTheWindowSays(t *testing.T) {
	m := opened(t, published())
	later := epoch.Add(3 * time.Second)
	record(t, m, success, later)
	record(t, m, success, later)
	record(t, m, success, later)
	assert.Equal(t, breaker.Open, record(t, m, failure, later).To, "one of four, below the rate and minCalls")
}

func TestNeutralProbeReturnsItsPermitAndDecidesNothing(t *testing.T) {
	m := opened(t, published())
	later := epoch.Add(3 * time.Second)
	for range 50 {
		record(t, m, neutral, later)
		require.Equal(t, breaker.HalfOpen, m.State())
	}
}

func TestRacingCallersGetExactlyThePermitsOfHalfOpen(t *testing.T) {
	b, err := breaker.New(published())
	require.NoError(t, err)
	for range 10 {
		p, _, ok := b.Acquire(epoch)
		require.True(t, ok)
		b.Done(p, failure, epoch)
	}
	require.Equal(t, breaker.Open, b.State())
	var through, changes atomic.Int32
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 50 {
		wg.Go(func() {
			<-start
			_, change, ok := b.Acquire(epoch.Add(2 * time.Second))
			if ok {
				through.Add(1)
			}
			if change.Happened() {
				changes.Add(1)
			}
		})
	}
	close(start)
	wg.Wait()
	assert.EqualValues(t, 4, through.Load())
	assert.EqualValues(t, 1, changes.Load(), "the change of state is told to one caller")
}

func TestProbeThatNeverEndsIsReplacedAfterMaxWait(t *testing.T) {
	c := published()
	c.HalfOpen = breaker.Probes{Calls: 1, MaxWait: time.Second}
	m := opened(t, c)
	start := epoch.Add(2 * time.Second)
	lost, _, ok := m.Acquire(start)
	require.True(t, ok)
	_, _, ok = m.Acquire(start.Add(time.Second - 1))
	assert.False(t, ok, "a slow probe keeps the others out")
	probe, _, ok := m.Acquire(start.Add(time.Second))
	require.True(t, ok, "until it has had its time")

	counted, change := m.Done(lost, failure, start.Add(time.Second))
	assert.False(t, counted)
	assert.False(t, change.Happened())
	counted, change = m.Done(probe, success, start.Add(time.Second))
	assert.True(t, counted)
	assert.Equal(t, breaker.Closed, change.To)
}

func TestResultOfAnEarlierStateChangesNothing(t *testing.T) {
	m := breaker.NewMachine(published())
	stale, _, _ := m.Acquire(epoch)
	for m.State() == breaker.Closed {
		record(t, &m, failure, epoch)
	}
	later := epoch.Add(2 * time.Second)
	probe, _, ok := m.Acquire(later)
	require.True(t, ok)
	for _, r := range []breaker.Result{success, failure} {
		counted, change := m.Done(stale, r, later)
		assert.False(t, counted)
		assert.False(t, change.Happened())
		assert.Equal(t, breaker.HalfOpen, m.State())
	}
	counted, _ := m.Done(probe, success, later)
	assert.True(t, counted)
	counted, _ = m.Done(probe, success, later)
	assert.False(t, counted, "a permit is returned once")
}

func TestOpenTimeGrowsUntilItHasClosed(t *testing.T) {
	c := published()
	c.OpenFor = breaker.OpenFor{Initial: time.Second, Multiplier: 2, Max: 5 * time.Second}
	c.HalfOpen.Calls = 1
	m := opened(t, c)
	now := epoch
	for _, open := range []time.Duration{1, 2, 4, 5, 5} {
		now = now.Add(open * time.Second)
		_, _, ok := m.Acquire(now.Add(-1))
		require.False(t, ok, "within %d s", open)
		record(t, m, failure, now)
	}
	now = now.Add(5 * time.Second)
	require.Equal(t, breaker.Closed, record(t, m, success, now).To)
	for m.State() == breaker.Closed {
		record(t, m, failure, now)
	}
	_, _, ok := m.Acquire(now.Add(time.Second))
	assert.True(t, ok, "back to the initial time")
}

func TestSlowCallsOpen(t *testing.T) {
	c := published()
	c.SlowCall = breaker.SlowCall{Over: 100 * time.Millisecond, Rate: 0.8}
	m := breaker.NewMachine(c)
	slow := breaker.Result{Verdict: breaker.Success, Duration: 101 * time.Millisecond}
	fast := breaker.Result{Verdict: breaker.Success, Duration: 100 * time.Millisecond}
	for _, r := range []breaker.Result{fast, fast, slow, slow, slow, slow, slow, slow, slow} {
		require.False(t, record(t, &m, r, epoch).Happened())
	}
	assert.Equal(t, breaker.Open, record(t, &m, slow, epoch).To, "8 of 10 were slow")
}

func TestForcedStates(t *testing.T) {
	m := breaker.NewMachine(published())
	running, _, _ := m.Acquire(epoch)
	assert.Equal(t, breaker.ForcedOpen, m.Force(breaker.Open, epoch).To)
	_, _, ok := m.Acquire(epoch.Add(1000 * time.Hour))
	assert.False(t, ok, "forced open has no end")
	counted, _ := m.Done(running, failure, epoch)
	assert.False(t, counted)

	assert.Equal(t, breaker.Disabled, m.Force(breaker.Disabled, epoch).To)
	for range 100 {
		record(t, &m, failure, epoch)
	}
	assert.Equal(t, breaker.Disabled, m.State())
	assert.Equal(t, breaker.Closed, m.Force(breaker.Closed, epoch).To)
	assert.Zero(t, m.Counts(epoch))
}

func TestValidateNamesEveryFault(t *testing.T) {
	err := breaker.Config{
		Window: breaker.Window{Calls: 5, Time: time.Second}, FailureRate: 1.5,
		OpenFor: breaker.OpenFor{Multiplier: 0.5}, HalfOpen: breaker.Probes{MaxWait: -1},
		SlowCall: breaker.SlowCall{Over: -1},
	}.Validate()
	for _, path := range []string{"window:", "failureRate:", "minCalls:", "openFor:", "openFor.multiplier:", "halfOpen.calls:", "halfOpen.maxWait:", "slowCall.over:"} {
		assert.ErrorContains(t, err, path)
	}
	assert.NoError(t, published().Validate())
}

// A window that holds successes alone takes one more of them without its lock,
// but not a slow one.
func TestSlowSuccessesAfterManyFastOnesAreCounted(t *testing.T) {
	b, err := breaker.New(breaker.Config{
		Window: breaker.Window{Calls: 4}, FailureRate: 1, MinCalls: 4, SlowCall: breaker.SlowCall{Over: time.Second, Rate: 0.5},
		OpenFor: breaker.OpenFor{Initial: time.Minute}, HalfOpen: breaker.Probes{Calls: 1},
	})
	require.NoError(t, err)
	call := func(took time.Duration) {
		permit, _, ok := b.Acquire(epoch)
		require.True(t, ok)
		counted, _ := b.Done(permit, breaker.Result{Verdict: breaker.Success, Duration: took}, epoch)
		require.True(t, counted)
	}
	for range 20 {
		call(time.Second)
	}
	call(time.Second + 1)
	assert.Equal(t, breaker.Counts{Total: 4, Slow: 1}, b.Counts(epoch))
	assert.Equal(t, breaker.Closed, b.State())
	call(time.Second + 1)
	assert.Equal(t, breaker.Open, b.State())
}
