package executor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// sleeper is a virtual user whose iterations take a while.
type sleeper struct {
	takes time.Duration
	ctx   context.Context
	runs  int
}

func (s *sleeper) Activate(ctx context.Context, _ string) { s.ctx = ctx }
func (s *sleeper) Deactivate()                            {}
func (s *sleeper) Iterate() Outcome {
	s.runs++
	t := time.NewTimer(s.takes)
	defer t.Stop()
	select {
	case <-t.C:
		return Done
	case <-s.ctx.Done():
		return Interrupted
	}
}

func crewOf(takes ...time.Duration) []VU {
	out := make([]VU, len(takes))
	for i, d := range takes {
		out[i] = &sleeper{takes: d}
	}
	return out
}

func TestConstantVUsLoopsForTheDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s State
		e := ConstantVUs{Users: 2, Duration: 10 * time.Second, GracefulStop: 30 * time.Second}
		start := time.Now()
		e.Run(context.Background(), "default", crewOf(3*time.Second, 4*time.Second), &s)
		// Starts at 0, 3, 6, 9 and 0, 4, 8; the last ones end at 12.
		assert.EqualValues(t, 7, s.Iterations())
		assert.Zero(t, s.Interrupted())
		assert.Equal(t, 12*time.Second, time.Since(start))
		assert.Zero(t, s.Active())
	})
}

func TestConstantVUsInterruptsAfterTheGracefulStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s State
		start := time.Now()
		ConstantVUs{Users: 2, Duration: time.Second, GracefulStop: 5 * time.Second}.
			Run(context.Background(), "default", crewOf(time.Hour, 4*time.Second), &s)
		assert.EqualValues(t, 1, s.Iterations())
		assert.EqualValues(t, 1, s.Interrupted())
		assert.Equal(t, 6*time.Second, time.Since(start))
	})
}

func TestSharedIterationsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s State
		vus := crewOf(time.Second, 3*time.Second)
		SharedIterations{Users: 2, Total: 8, MaxDuration: time.Hour, GracefulStop: time.Second}.
			Run(context.Background(), "default", vus, &s)
		assert.EqualValues(t, 8, s.Iterations())
		// The fast one has started three for each of the slow one's.
		assert.Equal(t, 6, vus[0].(*sleeper).runs)
		assert.Equal(t, 2, vus[1].(*sleeper).runs)
	})
}

func TestSharedIterationsEndWithMaxDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s State
		start := time.Now()
		SharedIterations{Users: 1, Total: 100, MaxDuration: 10 * time.Second, GracefulStop: 2 * time.Second}.
			Run(context.Background(), "default", crewOf(9*time.Second), &s)
		assert.EqualValues(t, 1, s.Iterations())
		assert.EqualValues(t, 1, s.Interrupted())
		assert.Equal(t, 12*time.Second, time.Since(start))
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	for _, e := range []Executor{
		ConstantVUs{Users: 2, Duration: time.Hour, GracefulStop: time.Hour},
		SharedIterations{Users: 2, Total: 1e6, MaxDuration: time.Hour, GracefulStop: time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2500*time.Millisecond)
			defer cancel()
			var s State
			start := time.Now()
			e.Run(ctx, "default", crewOf(time.Second, time.Second), &s)
			assert.EqualValues(t, 4, s.Iterations(), e.Describe())
			assert.EqualValues(t, 2, s.Interrupted(), e.Describe())
			assert.Equal(t, 2500*time.Millisecond, time.Since(start), e.Describe())
		})
	}
}

type thrower struct{ sleeper }

func (thrower) Iterate() Outcome { return Threw }

func TestIterationsThatThrowAreCounted(t *testing.T) {
	var s State
	SharedIterations{Users: 1, Total: 3, MaxDuration: time.Hour}.Run(context.Background(), "default", []VU{&thrower{}}, &s)
	assert.EqualValues(t, 3, s.Iterations())
	assert.EqualValues(t, 3, s.Threw())
}
