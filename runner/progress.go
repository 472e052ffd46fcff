package runner

import "time"

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
	s := Status{
		Phase: Phase(r.phase.Load()), Total: r.exec.Length(), VUs: r.exec.VUs(),
		Ready: int(r.ready.Load()), Active: r.state.Active(),
		Iterations: r.state.Iterations(), Threw: r.state.Threw(), Interrupted: r.state.Interrupted(),
		TotalIterations: r.exec.Iterations(), Executor: r.exec.Describe(),
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
