package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Stage is a change to a target, in a straight line, that takes a time.
type Stage struct {
	Duration time.Duration // 0: at once
	Target   int64         // virtual users, or iterations in a time unit
}

func (f *faults) stages(stages []Stage, most int64) {
	f.add(len(stages) == 0, "stages: want at least one")
	for i, s := range stages {
		f.add(s.Duration < 0, "stages[%d].duration: %s is negative", i, s.Duration)
		f.add(s.Target < 0, "stages[%d].target: %d is negative", i, s.Target)
		f.add(s.Target > most, "stages[%d].target: %d, want at most %d", i, s.Target, most)
	}
}

func stagesLength(stages []Stage) (d time.Duration) {
	for _, s := range stages {
		d += s.Duration
	}
	return d
}

// RampingVUs loops a number of virtual users that follows stages.
type RampingVUs struct {
	StartVUs         int64
	Stages           []Stage
	GracefulRampDown time.Duration // how long one that is no longer wanted may go on
	GracefulStop     time.Duration // the same, at the end

	segment Segment
}

// Type is k6's name of it.
func (RampingVUs) Type() string { return "ramping-vus" }

// Describe is the executor in a few words.
func (e RampingVUs) Describe() string {
	most := e.segment.Scale(e.StartVUs)
	for _, s := range e.Stages {
		most = max(most, e.segment.Scale(s.Target))
	}
	return fmt.Sprintf("up to %d looping VUs for %s over %d stages (gracefulRampDown: %s, gracefulStop: %s)",
		most, e.Length(), len(e.Stages), e.GracefulRampDown, e.GracefulStop)
}

// Validate names everything that is wrong with it.
func (e RampingVUs) Validate() error {
	var f faults
	f.add(e.StartVUs < 0, "startVUs: %d is negative", e.StartVUs)
	f.add(e.StartVUs > MaxVUs, "startVUs: %d, want at most %d", e.StartVUs, MaxVUs)
	f.stages(e.Stages, MaxVUs)
	f.add(e.GracefulRampDown < 0, "gracefulRampDown: %s is negative", e.GracefulRampDown)
	some := e.StartVUs > 0
	for _, s := range e.Stages {
		some = some || s.Target > 0
	}
	f.add(!some, "stages: want startVUs or a target above 0")
	return f.join()
}

// In is the part of a segment: at any time its share of the virtual users.
func (e RampingVUs) In(s Segment) Executor {
	e.segment = s
	return e
}

// Length is that of all stages.
func (e RampingVUs) Length() time.Duration { return stagesLength(e.Stages) }

// Iterations is 0: time decides.
func (e RampingVUs) Iterations() int64 { return 0 }

// level is a number of virtual users from a time on.
type level struct {
	at  time.Duration
	vus int64
}

// levels is how many virtual users are wanted when. A line from 0 to 10 users
// in 10 s has the first after 1 s and the last after 10 s.
func (e RampingVUs) levels() []level {
	now := e.StartVUs
	out := []level{{vus: e.segment.Scale(now)}}
	at := time.Duration(0)
	add := func(at time.Duration, vus int64) {
		if vus = e.segment.Scale(vus); out[len(out)-1].vus != vus {
			out = append(out, level{at, vus})
		}
	}
	for _, s := range e.Stages {
		steps := max(s.Target-now, now-s.Target)
		if s.Duration == 0 {
			add(at, s.Target)
			steps = 0
		}
		for k := int64(1); k <= steps; k++ {
			vus := now + k
			if s.Target < now {
				vus = now - k
			}
			add(at+time.Duration(float64(s.Duration)*(float64(k)/float64(steps))), vus)
		}
		at += s.Duration
		now = s.Target
	}
	return out
}

// span is a stretch of time.
type span struct{ from, to time.Duration }

// stay is how long a virtual user is kept: while it is wanted, and while it may
// still finish an iteration.
type stay struct {
	span
	wanted []span
}

// stays are those of each virtual user, by its number.
func (e RampingVUs) stays() [][]stay {
	var wanted [][]span
	active := int64(0)
	for _, l := range append(e.levels(), level{at: e.Length()}) {
		for ; active < l.vus; active++ {
			if active == int64(len(wanted)) {
				wanted = append(wanted, nil)
			}
			wanted[active] = append(wanted[active], span{from: l.at})
		}
		for ; active > l.vus; active-- {
			spans := wanted[active-1]
			spans[len(spans)-1].to = l.at
		}
	}
	end := e.Length() + e.GracefulStop
	out := make([][]stay, len(wanted))
	for i, spans := range wanted {
		for _, w := range spans {
			if w.from >= w.to {
				continue
			}
			until := end
			if w.to < e.Length() {
				until = min(w.to+e.GracefulRampDown, end)
			}
			if n := len(out[i]); n > 0 && w.from <= out[i][n-1].to {
				last := &out[i][n-1]
				last.to, last.wanted = until, append(last.wanted, w)
				continue
			}
			out[i] = append(out[i], stay{span{w.from, until}, []span{w}})
		}
	}
	return out
}

// Plan is how many virtual users it needs.
func (e RampingVUs) Plan() []Step {
	type change struct {
		at time.Duration
		by int
	}
	var changes []change
	for _, stays := range e.stays() {
		for _, s := range stays {
			changes = append(changes, change{s.from, 1}, change{s.to, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	plan := []Step{{}}
	for _, c := range changes {
		last := plan[len(plan)-1]
		if c.at == last.At {
			plan[len(plan)-1].VUs += c.by
		} else {
			plan = append(plan, Step{At: c.at, VUs: last.VUs + c.by})
		}
	}
	return plan
}

// Run loops the virtual users that are wanted. One that is not wanted any
// more may finish its iteration in the graceful time.
func (e RampingVUs) Run(ctx context.Context, s *Scenario) {
	begun := time.Now()
	var wg sync.WaitGroup
	for _, stays := range e.stays() {
		wg.Go(func() {
			for _, stay := range stays {
				if !sleepUntil(ctx, begun.Add(stay.from)) {
					return
				}
				e.stay(ctx, s, begun, stay)
			}
		})
	}
	wg.Wait()
}

// stay has one virtual user while it is wanted.
func (e RampingVUs) stay(ctx context.Context, s *Scenario, begun time.Time, stay stay) {
	v, ok := s.Pool.Get(ctx)
	if !ok {
		return
	}
	defer s.Pool.Put(v)
	running, stop := context.WithDeadline(ctx, begun.Add(stay.to))
	defer stop()
	v.Activate(running, s)
	defer v.Deactivate()
	for _, w := range stay.wanted {
		if !sleepUntil(running, begun.Add(w.from)) {
			return
		}
		s.active.Add(1)
		for until := begun.Add(w.to); time.Now().Before(until) && running.Err() == nil; {
			s.count(v.Iterate())
		}
		s.active.Add(-1)
	}
}
