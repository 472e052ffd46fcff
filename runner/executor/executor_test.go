package executor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logrustest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const sec = time.Second

// sleeper is a virtual user whose iterations take a while.
type sleeper struct {
	takes  time.Duration
	begin  time.Time
	starts []time.Duration // of its iterations, after begin
	ctx    context.Context
	active bool
}

func (s *sleeper) Activate(ctx context.Context, _ *Scenario) {
	if s.active {
		panic("active twice")
	}
	s.ctx, s.active = ctx, true
}

func (s *sleeper) Deactivate() { s.active = false }

func (s *sleeper) Iterate() Outcome {
	s.starts = append(s.starts, time.Since(s.begin))
	if s.takes == 0 {
		return Done
	}
	t := time.NewTimer(s.takes)
	defer t.Stop()
	select {
	case <-t.C:
		return Done
	case <-s.ctx.Done():
		return Interrupted
	}
}

// pool is a pool of sleepers. It lends the one that came back last.
type pool struct {
	begin  time.Time
	takes  time.Duration
	make   time.Duration // how long making one takes; below 0: it fails
	mu     sync.Mutex
	all    []*sleeper
	free   []VU
	tokens chan struct{} // one for each that is free
	out    atomic.Int64
	most   atomic.Int64
	inTime atomic.Int64 // virtual users that had to be waited for
}

func newPool(planned int, takes time.Duration) *pool {
	p := &pool{begin: time.Now(), takes: takes, tokens: make(chan struct{}, 10_000)}
	for range planned {
		p.give(p.one())
	}
	return p
}

func (p *pool) one() *sleeper {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &sleeper{takes: p.takes, begin: p.begin}
	p.all = append(p.all, s)
	return s
}

func (p *pool) Get(ctx context.Context) (VU, bool) {
	begin := time.Now()
	select {
	case <-p.tokens:
		if time.Since(begin) > 0 {
			p.inTime.Add(1)
		}
		p.most.Store(max(p.most.Load(), p.out.Add(1)))
		p.mu.Lock()
		defer p.mu.Unlock()
		v := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		return v, true
	case <-ctx.Done():
		return nil, false
	}
}

func (p *pool) Make(context.Context) (VU, error) {
	if p.make < 0 {
		return nil, errors.New("no")
	}
	time.Sleep(p.make)
	p.out.Add(1)
	return p.one(), nil
}

func (p *pool) Put(v VU) { p.out.Add(-1); p.give(v) }

func (p *pool) give(v VU) {
	p.mu.Lock()
	p.free = append(p.free, v)
	p.mu.Unlock()
	p.tokens <- struct{}{}
}

// starts are those of all iterations, in order.
func (p *pool) starts() (out []time.Duration) {
	for _, s := range p.all {
		out = append(out, s.starts...)
	}
	slices.Sort(out)
	return out
}

// play is a scenario that was run.
type play struct {
	*Scenario
	*pool
	dropped int64
	took    time.Duration
	log     *logrustest.Hook
}

// run runs an executor to its end with as many virtual users as it plans.
func run(ctx context.Context, t require.TestingT, e Executor, takes time.Duration, change ...func(*play)) *play {
	require.NoError(t, e.Validate())
	planned, _ := Peak(e.Plan())
	log, hook := logrustest.NewNullLogger()
	p := &play{pool: newPool(planned, takes), log: hook}
	p.Scenario = &Scenario{Name: "x", Executor: e, Pool: p.pool, Log: log, Dropped: func(n int64) { p.dropped += n }}
	for _, f := range change {
		f(p)
	}
	begin := time.Now()
	p.Run(ctx)
	p.took = time.Since(begin)
	assert.Zero(t, p.out.Load(), "virtual users that were not given back")
	assert.Zero(t, p.Active())
	assert.LessOrEqual(t, p.most.Load(), int64(planned))
	return p
}

func TestConstantVUsLoopForTheDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t.Context(), t, ConstantVUs{VUs: 2, Duration: 10 * sec, GracefulStop: 30 * sec}, 3*sec)
		assert.EqualValues(t, 8, p.Iterations()) // starts at 0, 3, 6, 9
		assert.Zero(t, p.Interrupted())
		assert.Equal(t, 12*sec, p.took)
	})
}

func TestConstantVUsInterruptAfterTheGracefulStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t.Context(), t, ConstantVUs{VUs: 2, Duration: sec, GracefulStop: 5 * sec}, time.Hour)
		assert.EqualValues(t, 2, p.Interrupted())
		assert.Equal(t, 6*sec, p.took)
	})
}

func TestSharedIterationsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t.Context(), t, SharedIterations{VUs: 2, Total: 8, MaxDuration: time.Hour, GracefulStop: sec}, sec,
			func(p *play) { p.all[1].takes = 3 * sec })
		assert.EqualValues(t, 8, p.Iterations())
		assert.Zero(t, p.dropped)
		// The fast one has started three for each of the slow one's.
		assert.Len(t, p.all[0].starts, 6)
		assert.Len(t, p.all[1].starts, 2)
	})
}

func TestIterationsThatDoNotStartInTimeAreDropped(t *testing.T) {
	for _, e := range []Executor{
		SharedIterations{VUs: 1, Total: 100, MaxDuration: 10 * sec, GracefulStop: 2 * sec},
		PerVUIterations{VUs: 1, Each: 100, MaxDuration: 10 * sec, GracefulStop: 2 * sec},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := run(t.Context(), t, e, 9*sec)
			assert.EqualValues(t, 1, p.Iterations(), e.Type())
			assert.EqualValues(t, 1, p.Interrupted(), e.Type())
			assert.EqualValues(t, 98, p.dropped, e.Type())
			assert.Equal(t, 12*sec, p.took, e.Type())
		})
	}
}

func TestPerVUIterationsAreTheSameForEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t.Context(), t, PerVUIterations{VUs: 3, Each: 4, MaxDuration: time.Hour}, sec,
			func(p *play) { p.all[0].takes = 5 * sec })
		for _, v := range p.all {
			assert.Len(t, v.starts, 4)
		}
		assert.Equal(t, 20*sec, p.took)
	})
}

// Once a virtual user that was done at once took the place of one that had not
// begun.
func TestEachOfTheVirtualUsersRunsItsIterations(t *testing.T) {
	for range 50 {
		p := run(t.Context(), t, PerVUIterations{VUs: 20, Each: 3, MaxDuration: time.Hour}, 0)
		for i, v := range p.all {
			require.Len(t, v.starts, 3, "user %d", i)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	stages := []Stage{{time.Hour, 2}}
	for _, c := range []struct {
		e    Executor
		want int
	}{
		{ConstantVUs{VUs: 2, Duration: time.Hour, GracefulStop: time.Hour}, 4},
		{SharedIterations{VUs: 2, Total: 1e6, MaxDuration: time.Hour, GracefulStop: time.Hour}, 4},
		{PerVUIterations{VUs: 2, Each: 1e6, MaxDuration: time.Hour, GracefulStop: time.Hour}, 4},
		{RampingVUs{StartVUs: 2, Stages: stages, GracefulStop: time.Hour}, 4},
		{ArrivalRate{Constant: true, TimeUnit: sec, Stages: stages, PreAllocatedVUs: 2, MaxVUs: 2, GracefulStop: time.Hour}, 4}, // from 0 on
		{ArrivalRate{StartRate: 2, TimeUnit: sec, Stages: stages, PreAllocatedVUs: 2, MaxVUs: 2, GracefulStop: time.Hour}, 3},   // from 0.5 s on
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2600*time.Millisecond)
			defer cancel()
			p := run(ctx, t, c.e, 900*time.Millisecond)
			assert.EqualValues(t, c.want, p.Iterations(), c.e.Describe())
			assert.EqualValues(t, 2, p.Interrupted(), c.e.Describe())
			assert.Equal(t, 2600*time.Millisecond, p.took, c.e.Describe())
		})
	}
}

func TestAScenarioBeginsAtItsStartTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := func(p *play) { p.StartTime = 5 * sec }
		p := run(t.Context(), t, ConstantVUs{VUs: 1, Duration: 2 * sec}, sec, late)
		assert.Equal(t, []time.Duration{5 * sec, 6 * sec}, p.starts())
		assert.Equal(t, 1.0, p.Progress())

		ctx, cancel := context.WithTimeout(t.Context(), 4*sec)
		defer cancel()
		p = run(ctx, t, ConstantVUs{VUs: 1, Duration: 2 * sec}, sec, late)
		assert.Empty(t, p.starts())
		assert.Zero(t, p.Progress())
	})
}

type thrower struct{ sleeper }

func (*thrower) Iterate() Outcome { return Threw }

func TestIterationsThatThrowAreCounted(t *testing.T) {
	p := run(t.Context(), t, SharedIterations{VUs: 1, Total: 3, MaxDuration: time.Hour}, 0, func(p *play) {
		p.free[0] = &thrower{}
	})
	assert.EqualValues(t, 3, p.Iterations())
	assert.EqualValues(t, 3, p.Threw())
}

// The number of users that are active in the middle of each second.
func TestRampingVUsFollowTheirStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := RampingVUs{StartVUs: 1, GracefulRampDown: 30 * sec, GracefulStop: 30 * sec, Stages: []Stage{
			{4 * sec, 5}, {2 * sec, 5}, {0, 2}, {2 * sec, 2}, {2 * sec, 4}, {4 * sec, 0},
		}}
		var active []int
		var watcher sync.WaitGroup
		p := run(t.Context(), t, e, sec/10, func(p *play) {
			watcher.Go(func() {
				for i := range 14 {
					time.Sleep(time.Duration(min(i+1, 2)) * sec / 2)
					active = append(active, p.Active())
				}
			})
		})
		watcher.Wait()
		assert.Equal(t, []int{1, 2, 3, 4, 5, 5, 2, 2, 2, 3, 4, 3, 2, 1}, active)
		assert.Equal(t, 14*sec, p.took)
		assert.Zero(t, p.Interrupted())
		assert.Zero(t, p.inTime.Load(), "somebody waited for a virtual user that was planned")
	})
}

func TestRampDownLetsIterationsFinishForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The second one is not wanted from 2 s to 6 s, and again from 10 s on.
		e := RampingVUs{StartVUs: 2, GracefulRampDown: 3 * sec, GracefulStop: 30 * sec, Stages: []Stage{
			{2 * sec, 2}, {0, 1}, {4 * sec, 1}, {0, 2}, {4 * sec, 2}, {0, 0}, {10 * sec, 0},
		}}
		p := run(t.Context(), t, e, 4*sec)
		assert.Equal(t, []time.Duration{0, 0, 4 * sec, 6 * sec, 8 * sec}, p.starts())
		assert.Zero(t, p.Interrupted())
		assert.Equal(t, 12*sec, p.took)

		// Interrupted at 5 s, and both at 13 s.
		p = run(t.Context(), t, e, 8*sec)
		assert.Equal(t, []time.Duration{0, 0, 6 * sec, 8 * sec}, p.starts())
		assert.EqualValues(t, 3, p.Interrupted())
		assert.Equal(t, 13*sec, p.took)

		// An iteration that lasts until it is wanted again goes on.
		e.GracefulRampDown = 5 * sec
		p = run(t.Context(), t, e, 7*sec)
		assert.Equal(t, []time.Duration{0, 0, 7 * sec, 7 * sec}, p.starts())
		assert.Zero(t, p.Interrupted())
	})
}

func TestThePlanOfARampIsWhatItNeeds(t *testing.T) {
	e := RampingVUs{GracefulRampDown: 10 * sec, GracefulStop: 10 * sec, Stages: []Stage{{5 * sec, 5}, {sec, 5}, {0, 0}, {20 * sec, 0}, {5 * sec, 3}}}
	planned, all := Peak(e.Plan())
	assert.Equal(t, 5, planned)
	assert.Equal(t, 5, all)
	// Another scenario that runs while none is needed shares the same ones.
	planned, _ = Peak(e.Plan(), Shift(ConstantVUs{VUs: 5, Duration: 5 * sec}.Plan(), 16*sec))
	assert.Equal(t, 5, planned)
	planned, _ = Peak(e.Plan(), Shift(ConstantVUs{VUs: 5, Duration: 5 * sec}.Plan(), 15*sec))
	assert.Equal(t, 10, planned)
}

func TestConstantArrivalRateStartsEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := run(t.Context(), t, constantRate(5, 2*sec, 3), 300*time.Millisecond)
		var want []time.Duration
		for i := range 10 {
			want = append(want, time.Duration(i)*200*time.Millisecond)
		}
		assert.Equal(t, want, p.starts())
		assert.Zero(t, p.dropped)
		assert.Equal(t, Lateness{Starts: 10}, p.Lateness())
		assert.Equal(t, 2100*time.Millisecond, p.took)
	})
}

func constantRate(rate int64, d time.Duration, vus int64) ArrivalRate {
	return ArrivalRate{Constant: true, TimeUnit: sec, Stages: []Stage{{d, rate}}, PreAllocatedVUs: vus, MaxVUs: vus, GracefulStop: 30 * sec}
}

func TestArrivalsWithoutAVirtualUserAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := constantRate(10, 10*sec, 2)
		e.MaxVUs = 4
		const takes = 950 * time.Millisecond
		p := run(t.Context(), t, e, takes, func(p *play) { p.make = 50 * time.Millisecond })
		// Two start at 0 and 100 ms, for those at 200 and 400 ms one more is made.
		// From then on four of ten can start in each second.
		assert.EqualValues(t, 100, p.Iterations()+p.dropped)
		assert.EqualValues(t, 40, p.Iterations())
		assert.Len(t, p.all, 4)
		require.Len(t, p.log.AllEntries(), 1)
		assert.Contains(t, p.log.LastEntry().Message, "all 4 virtual users are busy")

		p = run(t.Context(), t, e, takes, func(p *play) { p.make = -1 })
		assert.EqualValues(t, 20, p.Iterations())
		assert.Equal(t, logrus.ErrorLevel, p.log.AllEntries()[0].Level)
	})
}

func TestArrivalRateInterruptsAfterTheGracefulStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := constantRate(2, 2*sec, 4)
		e.GracefulStop = 3 * sec
		p := run(t.Context(), t, e, time.Hour)
		assert.EqualValues(t, 4, p.Interrupted())
		assert.Zero(t, p.dropped)
		assert.Equal(t, 5*sec, p.took)
	})
}

// Once an executor that had fallen behind worked on through all that was due.
func TestAnExecutorThatFallsBehindEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(p *play) {
			drop := p.Dropped
			p.Dropped = func(n int64) { drop(n); time.Sleep(sec) } // a machine that does not keep up
		}
		p := run(t.Context(), t, constantRate(100, 3*sec, 1), 10*sec, slow)
		assert.EqualValues(t, 300, p.dropped+p.Iterations(), "what was due is said")
		assert.EqualValues(t, 1, p.Iterations())
		assert.Equal(t, 10*sec, p.took)

		p = run(t.Context(), t, constantRate(100, 3*sec, 1), 900*time.Millisecond, slow)
		assert.EqualValues(t, 300, p.dropped+p.Iterations())
		late := p.Lateness()
		assert.EqualValues(t, p.Iterations(), late.Starts)
		assert.Greater(t, late.Max, 900*time.Millisecond, "and how late it started what it did start")
	})
}

func TestIterationsOfARunThatIsInterruptedAreNotDropped(t *testing.T) {
	for _, e := range []Executor{
		SharedIterations{VUs: 1, Total: 100, MaxDuration: time.Hour},
		PerVUIterations{VUs: 1, Each: 100, MaxDuration: time.Hour},
		constantRate(1, time.Hour, 5),
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer cancel()
			p := run(ctx, t, e, sec)
			assert.Zero(t, p.dropped, e.Describe())
		})
	}
}

func TestPoissonArrivalsOfSegmentsHaveTheirShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		total := 0
		for i, text := range []string{"0:1/4", "1/4:1/2", "1/2:1"} {
			segment, err := ParseSegment(text)
			require.NoError(t, err)
			e := constantRate(200, 100*sec, 400)
			e.Poisson = rand.New(rand.NewPCG(3, uint64(i)))
			n := len(run(t.Context(), t, e.In(segment), time.Millisecond).starts())
			want := 20_000 * segment.Share()
			assert.InDelta(t, want, n, 4.5*math.Sqrt(want), text)
			total += n
		}
		assert.InDelta(t, 20_000, total, 4.5*math.Sqrt(20_000))
	})
}

func TestRampingArrivalRateFollowsItsStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := ArrivalRate{TimeUnit: sec, PreAllocatedVUs: 5, MaxVUs: 5, GracefulStop: sec, Stages: []Stage{
			{10 * sec, 100}, {5 * sec, 100}, {0, 10}, {10 * sec, 10}, {10 * sec, 0},
		}}
		p := run(t.Context(), t, e, time.Millisecond)
		starts := p.starts()
		require.Len(t, starts, 500+500+100+50)
		within := func(from, to time.Duration) (n int) {
			for _, at := range starts {
				if at > from && at <= to {
					n++
				}
			}
			return n
		}
		assert.InDelta(t, 125, within(0, 5*sec), 1)
		assert.InDelta(t, 375, within(5*sec, 10*sec), 1)
		assert.InDelta(t, 500, within(10*sec, 15*sec), 1)
		assert.InDelta(t, 100, within(15*sec, 25*sec), 1)
		assert.InDelta(t, 37.5, within(25*sec, 30*sec), 1)
		assert.Equal(t, 35*sec, starts[len(starts)-1], "the last one is due at the end")
	})
}

func TestPoissonArrivalsHaveTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const seed = 7
		e := constantRate(200, 100*sec, 500)
		e.Poisson = rand.New(rand.NewPCG(seed, 0))
		starts := run(t.Context(), t, e, time.Millisecond).starts()
		n := float64(len(starts))
		assert.InDelta(t, 20_000, n, 4*141, "seed %d", seed) // four standard deviations
		var sum, squares float64
		last := time.Duration(0)
		for _, at := range starts {
			gap := (at - last).Seconds()
			sum, squares, last = sum+gap, squares+gap*gap, at
		}
		mean := sum / n
		cv2 := (squares/n - mean*mean) / (mean * mean)
		assert.InDelta(t, 1, cv2, 0.06, "an exponential gap has a coefficient of variation of 1; seed %d", seed)
	})
}

// drawExecutor draws one that ends soon.
func drawExecutor(t *rapid.T) Executor {
	n := func(low, high int64, name string) int64 { return rapid.Int64Range(low, high).Draw(t, name) }
	stages := func() []Stage {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Stage {
			return Stage{time.Duration(rapid.Int64Range(0, 5).Draw(t, "duration")) * sec, rapid.Int64Range(0, 12).Draw(t, "target")}
		}), 1, 4).Draw(t, "stages")
	}
	grace := time.Duration(n(0, 3, "grace")) * sec
	switch rapid.SampledFrom(Executors()).Draw(t, "executor") {
	case "shared-iterations":
		vus := n(1, 12, "vus")
		return SharedIterations{VUs: vus, Total: vus + n(0, 50, "more"), MaxDuration: time.Hour}
	case "per-vu-iterations":
		return PerVUIterations{VUs: n(1, 12, "vus"), Each: n(1, 5, "each"), MaxDuration: time.Hour}
	case "constant-vus":
		return ConstantVUs{VUs: n(1, 12, "vus"), Duration: 5 * sec, GracefulStop: grace}
	case "ramping-vus":
		return RampingVUs{StartVUs: n(1, 12, "vus"), Stages: stages(), GracefulRampDown: grace, GracefulStop: grace}
	case "constant-arrival-rate":
		return constantRate(n(1, 40, "rate"), 4*sec, n(40, 60, "vus"))
	}
	return ArrivalRate{StartRate: n(0, 20, "startRate"), TimeUnit: sec, Stages: stages(), PreAllocatedVUs: n(60, 80, "vus"), MaxVUs: 80, GracefulStop: grace + sec}
}

// What segments do adds up to what the whole does: iterations, dropped ones,
// and the starts of arrivals one by one.
func TestSegmentsOfARunAddUpToTheWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e, segments := drawExecutor(rt), drawSegments(rt)
		var fault string
		synctest.Test(t, func(t *testing.T) { fault = compareWithWhole(t, e, segments) })
		if fault != "" {
			rt.Fatalf("%s in %v: %s", e.Describe(), segments, fault)
		}
	})
}

func compareWithWhole(t *testing.T, e Executor, segments []Segment) string {
	if _, ramps := e.(RampingVUs); ramps {
		return "" // which of them are stopped differs: see the next test
	}
	const takes = 300 * time.Millisecond
	whole := run(t.Context(), t, e, takes)
	var iterations, interrupted int64
	var starts []time.Duration
	for _, s := range segments {
		part := e.In(s)
		if _, all := Peak(part.Plan()); all == 0 {
			continue
		}
		p := run(t.Context(), t, part, takes)
		iterations, interrupted = iterations+p.Iterations(), interrupted+p.Interrupted()
		starts = append(starts, p.starts()...)
	}
	slices.Sort(starts)
	if _, shared := e.(SharedIterations); !shared && !slices.Equal(whole.starts(), starts) {
		return fmt.Sprintf("starts %v, of the whole %v", starts, whole.starts())
	}
	if iterations != whole.Iterations() || interrupted != whole.Interrupted() {
		return fmt.Sprintf("%d iterations and %d interrupted, of the whole %d and %d",
			iterations, interrupted, whole.Iterations(), whole.Interrupted())
	}
	return ""
}

func TestSegmentsOfARampAddUpAtAnyTime(t *testing.T) {
	at := func(levels []level, at time.Duration) (vus int64) {
		for _, l := range levels {
			if l.at <= at {
				vus = l.vus
			}
		}
		return vus
	}
	rapid.Check(t, func(t *rapid.T) {
		e, ok := drawExecutor(t).(RampingVUs)
		if !ok {
			t.Skip("another executor")
		}
		segments := drawSegments(t)
		for now := time.Duration(0); now <= e.Length(); now += sec / 7 {
			sum := int64(0)
			for _, s := range segments {
				sum += at(e.In(s).(RampingVUs).levels(), now)
			}
			if want := at(e.levels(), now); sum != want {
				t.Fatalf("%s in %v: %d at %s, of the whole %d", e.Describe(), segments, sum, now, want)
			}
		}
	})
}

func TestCountedIterationsAreNumberedBelowTheirTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawExecutor(t)
		if e.Iterations() == 0 {
			t.Skip("time decides")
		}
		seen := make([]bool, e.Iterations())
		for _, segment := range drawSegments(t) {
			s := Scenario{Executor: e.In(segment), Segment: segment}
			for i := range s.Executor.Iterations() {
				here, inTest := s.Next()
				if here != i || inTest < 0 || inTest >= e.Iterations() || seen[inTest] {
					t.Fatalf("%s of %s: number %d, of all %d", segment, e.Describe(), here, inTest)
				}
				seen[inTest] = true
			}
		}
	})
}

func TestNumbersOfIterationsAreUniqueAcrossSegments(t *testing.T) {
	seen := make(map[int64]string)
	for _, text := range []string{"0:1/4", "1/4:1/2", "1/2:3/4", "3/4:1"} {
		segment, err := ParseSegment(text)
		require.NoError(t, err)
		s := Scenario{Segment: segment}
		for i := range int64(100) {
			here, inTest := s.Next()
			assert.Equal(t, i, here)
			assert.Empty(t, seen[inTest])
			seen[inTest] = text
			assert.Less(t, inTest, int64(4*100+8), "they are dense")
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	for _, c := range []struct {
		e    Executor
		want []string
	}{
		{ConstantVUs{}, []string{"vus: 0, want at least 1", "duration: 0s, want at least 1s"}},
		{ConstantVUs{VUs: 2e8, Duration: sec}, []string{"vus: 200000000, want at most 100000000"}},
		{SharedIterations{VUs: 3, Total: 2, MaxDuration: sec}, []string{"iterations: 2, want at least as many as there are VUs (3)"}},
		{PerVUIterations{VUs: 2, Each: 1 << 62, MaxDuration: sec}, []string{"iterations: 4611686018427387904 for each of 2 VUs are too many"}},
		{RampingVUs{}, []string{"stages: want at least one", "want startVUs or a target above 0"}},
		{RampingVUs{StartVUs: -1, GracefulRampDown: -1, Stages: []Stage{{-1, -1}}}, []string{
			"startVUs: -1 is negative", "stages[0].duration: -1ns is negative", "stages[0].target: -1 is negative", "gracefulRampDown: -1ns is negative", "want startVUs or a target above 0",
		}},
		{ArrivalRate{Constant: true, Stages: []Stage{{}}}, []string{
			"timeUnit: 0s, want more than 0", "rate: 0, want at least 1", "duration: 0s, want at least 1s", "maxVUs: 0, want at least 1",
		}},
		{ArrivalRate{StartRate: -1, TimeUnit: sec, PreAllocatedVUs: 3, MaxVUs: 2, Stages: []Stage{{sec, 2e7}}}, []string{
			"startRate: -1 is negative", "stages[0].target: 20000000, want at most 10000000", "maxVUs: 2, want at least preAllocatedVUs (3)",
		}},
	} {
		err := c.e.Validate()
		require.Error(t, err)
		for _, want := range c.want {
			assert.ErrorContains(t, err, want)
		}
		assert.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), len(c.want), fmt.Sprint(err))
	}
}

func TestLateStartsAreMeasured(t *testing.T) {
	var s State
	for range 99 {
		s.arrive(3 * time.Millisecond)
	}
	s.arrive(2 * sec)
	l := s.Lateness()
	assert.EqualValues(t, 100, l.Starts)
	assert.Equal(t, 2*sec, l.Max)
	assert.GreaterOrEqual(t, l.P99, 3*time.Millisecond)
	assert.LessOrEqual(t, l.P99, 6*time.Millisecond)
	s = State{}
	s.arrive(-sec) // early is not late
	assert.Equal(t, Lateness{Starts: 1}, s.Lateness())
}
