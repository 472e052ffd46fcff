package runner

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/retrylab/retrylab/runner/executor"
)

// plan makes the scenarios of the segment.
func (r *run) plan() error {
	plan, err := r.options.Plan()
	if err != nil {
		return fail(InvalidConfig, err)
	}
	r.seed = rand.Uint64()
	if r.cfg.Seed != nil {
		r.seed = *r.cfg.Seed
	}
	r.shared.Segment = or(r.options.ExecutionSegment, executor.Segment{})
	r.shared.MinIteration = or(r.options.MinIterationDuration, 0)
	var steps [][]executor.Step
	for _, p := range plan {
		exec := cmp.Or(p.Exec, "default")
		if !r.first.Has(exec) {
			if exec == "default" {
				return fail(ScriptException, errors.New("the script exports no default function: want `export default function () { … }`"))
			}
			return fail(InvalidConfig, fmt.Errorf("scenarios.%s.exec: the script exports no function %q", p.Name, exec))
		}
		if arrivals, ok := p.Executor.(executor.ArrivalRate); ok && r.cfg.PoissonArrivals {
			arrivals.Poisson = rand.New(rand.NewPCG(r.seed, hash(p.Name+r.shared.Segment.String())))
			p.Executor = arrivals
		}
		e := p.Executor.In(r.shared.Segment)
		demand := executor.Shift(e.Plan(), p.StartTime)
		if _, most := executor.Peak(demand); most == 0 {
			r.log.Warnf("scenario %s: segment %s has no virtual user of it", p.Name, r.shared.Segment)
			continue
		}
		steps = append(steps, demand)
		s := &executor.Scenario{
			Name: p.Name, Exec: exec, Env: p.Env, Tags: p.Tags, StartTime: p.StartTime,
			Executor: e, Segment: r.shared.Segment, Log: r.log,
		}
		s.Dropped = r.emitDropped(s)
		r.scenarios = append(r.scenarios, s)
	}
	r.planned, _ = executor.Peak(steps...)
	r.most = r.planned
	for _, demand := range steps {
		further := 0
		for _, step := range demand {
			further = max(further, step.Unplanned)
		}
		r.most += further // none of them is unmade
	}
	return nil
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}
