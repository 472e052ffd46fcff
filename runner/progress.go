package runner

import (
	"encoding/json"
	"time"

	"github.com/retrylab/retrylab/runner/modules"
)

var _ modules.Run = (*run)(nil)

// enter moves the run to a phase and reports it.
func (r *run) enter(p Phase) {
	r.phase.Store(uint32(p))
	r.report()
}

func (r *run) report() {
	if r.cfg.Progress == nil {
		return
	}
	r.progressMu.Lock()
	defer r.progressMu.Unlock()
	r.cfg.Progress(r.status())
}

func (r *run) status() Status {
	s := Status{Phase: Phase(r.phase.Load()), VUs: max(r.planned, int(r.pool.made.Load())), Ready: int(r.pool.made.Load())}
	counted := true
	for _, sc := range r.scenarios {
		s.Total = max(s.Total, sc.StartTime+sc.Executor.Length())
		s.Active += sc.Active()
		s.Iterations += sc.Iterations()
		s.Threw += sc.Threw()
		s.Interrupted += sc.Interrupted()
		n := sc.Executor.Iterations()
		counted = counted && n > 0
		s.TotalIterations += n
		s.Scenarios = append(s.Scenarios, ScenarioStatus{
			Name: sc.Name, Executor: sc.Executor.Describe(), Progress: sc.Progress(), Active: sc.Active(), Iterations: sc.Iterations(),
		})
	}
	if !counted {
		s.TotalIterations = 0
	}
	if at := r.started.Load(); at != 0 {
		s.Elapsed = time.Since(time.Unix(0, at))
	}
	return s
}

// reportProgress reports at an interval until the returned function is called.
func (r *run) reportProgress() (stop func()) {
	if r.cfg.Progress == nil {
		return func() {}
	}
	r.report()
	return every(r.cfg.ProgressInterval, r.report)
}

// Options are those in force, with the scenarios that they amount to.
func (r *run) Options() (json.RawMessage, error) { return r.options.JSON() }

// Status is how far the run is.
func (r *run) Status() (modules.RunStatus, bool) {
	at := r.begun.Load()
	if at == 0 {
		return modules.RunStatus{}, false
	}
	s := r.status()
	return modules.RunStatus{
		Duration: time.Since(time.Unix(0, at)), Iterations: s.Iterations, Interrupted: s.Interrupted, Active: s.Active, VUs: s.Ready,
	}, true
}

// Abort ends the iterations.
func (r *run) Abort(reason string) {
	if r.abort != nil { // nothing runs before
		r.abort(&modules.Aborted{Reason: reason})
	}
}

// Fail marks the run as failed.
func (r *run) Fail() { r.failed.Store(true) }
