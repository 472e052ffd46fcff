package downstream

import (
	"slices"
	"time"

	"github.com/retrylab/retrylab/downstream/faults"
	"github.com/retrylab/retrylab/downstream/queue"
)

// regime is a configuration in effect since an instant, with the state that its scenarios have.
type regime struct {
	cfg    Config
	base   stage
	phases []stage // of the timeline, in order
}

// stage is one scenario in effect over a span of time.
type stage struct {
	fault       faults.Fault
	queue       *queue.Runner // nil: nothing queues
	rejectCost  time.Duration
	from, until time.Time // until is zero for a stage without end
}

func newRegime(cfg Config, now time.Time) *regime {
	cfg.Timeline = sorted(cfg.Timeline)
	g := &regime{cfg: cfg, base: stage{fault: fresh(cfg.Scenario.fault), from: now}}
	g.phases = make([]stage, len(cfg.Timeline))
	stalls := isStaller(g.base.fault)
	for i, p := range cfg.Timeline {
		ph := &g.phases[i]
		ph.fault, ph.from = fresh(p.Scenario.fault), now.Add(p.At)
		switch {
		case p.For > 0:
			ph.until = ph.from.Add(p.For)
		case i+1 < len(cfg.Timeline):
			ph.until = now.Add(cfg.Timeline[i+1].At)
		}
		ph.makeQueue(false, ph.stalled)
		stalls = stalls || isStaller(ph.fault)
	}
	if stalls {
		// What a phase stalls is the base scenario.
		g.base.makeQueue(true, func(now time.Time) time.Duration {
			left := g.base.stalled(now)
			if ph := g.phase(now); ph != nil {
				left = max(left, ph.stalled(now))
			}
			return left
		})
	} else {
		g.base.makeQueue(false, nil)
	}
	return g
}

func fresh(f faults.Fault) faults.Fault {
	if s, ok := f.(faults.Stateful); ok {
		return s.Fresh()
	}
	return f
}

func isStaller(f faults.Fault) bool {
	_, ok := f.(faults.Staller)
	return ok
}

// makeQueue gives the stage the queue that its fault asks for; always, if it must have one.
func (st *stage) makeQueue(always bool, stall func(time.Time) time.Duration) {
	cfg, wanted := queue.Config{Servers: 1 << 30}, false
	if q, ok := st.fault.(faults.Queuer); ok {
		var asked queue.Config
		if asked, wanted = q.Queue(); wanted {
			cfg = asked
		}
	}
	if wanted || always {
		st.queue, st.rejectCost = queue.NewRunner(cfg, stall), cfg.RejectCost
	}
}

// stalled returns for how long after now the stage's fault lets no service begin.
func (st *stage) stalled(now time.Time) time.Duration {
	staller, ok := st.fault.(faults.Staller)
	if !ok || now.Before(st.from) {
		return 0
	}
	left := staller.Stalled(now.Sub(st.from))
	if !st.until.IsZero() {
		left = max(0, min(left, st.until.Sub(now)))
	}
	return left
}

// phase returns the phase of the timeline that now lies in; nil: none.
func (g *regime) phase(now time.Time) *stage {
	// The last one that has begun.
	i, begun := slices.BinarySearchFunc(g.phases, now, func(st stage, now time.Time) int { return st.from.Compare(now) })
	if !begun {
		i--
	}
	if i < 0 {
		return nil
	}
	if st := &g.phases[i]; st.until.IsZero() || now.Before(st.until) {
		return st
	}
	return nil
}

// at returns the stage that a call meets which arrives now. A call that arrives while a phase stalls
// belongs to the base scenario: it is kept in its queue.
func (g *regime) at(now time.Time) *stage {
	if len(g.phases) == 0 {
		return &g.base
	}
	if st := g.phase(now); st != nil && st.stalled(now) == 0 {
		return st
	}
	return &g.base
}
