package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/output"
	"github.com/retrylab/retrylab/runner/summary"
	"github.com/retrylab/retrylab/runner/thresholds"
	"github.com/retrylab/retrylab/runner/vu"
)

const (
	collectEvery   = 50 * time.Millisecond
	thresholdEvery = 2 * time.Second
	gaugeEvery     = time.Second
	manyTagSets    = 100_000               // k6 warns of as many time series
	tooLate        = 10 * time.Millisecond // for a start: latencies are worse than measured
)

// errCrossed ends a run whose threshold says so.
var errCrossed = errors.New("a threshold with abortOnFail failed")

// run is one run in progress.
type run struct {
	cfg       Config
	ctx, hard context.Context
	log       logrus.FieldLogger
	factories map[string]modules.Factory

	shared  *vu.Shared
	script  *modules.Script
	first   *vu.VU // ran the init code; calls handleSummary
	options Options
	set     *thresholds.Set
	seed    uint64
	data    setupData

	scenarios     []*executor.Scenario // of the segment
	planned, most int                  // virtual users
	pool          *vuPool

	abort  context.CancelCauseFunc // ends the iterations
	failed atomic.Bool             // by the script

	text     string       // the script's source, if the summary tells it
	mode     summary.Mode // of the summary
	outputs  *output.Outputs
	parts    *summary.Collector // nil unless the mode wants it
	sketches *summary.Sketches  // nil unless they are asked for

	phase          atomic.Uint32
	begun, started atomic.Int64 // when the clock, and the iterations, began
	progressMu     sync.Mutex
}

func (r *run) all() (*Result, error) {
	if err := r.prepare(); err != nil {
		return nil, err
	}
	defer r.first.Close()
	r.pool = newVUPool(r.shared, r.script, r.most)
	defer r.pool.close()
	if err := r.attach(); err != nil {
		return nil, fail(InvalidConfig, err)
	}
	defer func() { _ = r.outputs.Close() }() // closed already, unless the run did not begin
	stopProgress := r.reportProgress()
	defer stopProgress()
	if err := r.pool.fill(r.ctx, r.planned); err != nil || r.ctx.Err() != nil {
		return nil, r.broken(r.ctx, err)
	}
	return r.execute()
}

// prepare loads the script and settles the options.
func (r *run) prepare() error {
	src, err := newSource(r.cfg.Script, r.cfg.FS, r.cfg.Stdin)
	if err != nil {
		return fail(InvalidConfig, err)
	}
	if r.cfg.NewMachineReadableSummary {
		source, _ := src.read(src.script) // loading it says what is wrong with it
		r.text = string(source)
	}
	env, err := EnvOptions(r.cfg.Environ)
	if err != nil {
		return fail(InvalidConfig, err)
	}
	registry := metrics.NewRegistry()
	builtin, err := metrics.NewBuiltin(registry)
	if err != nil {
		return err
	}
	r.shared = &vu.Shared{
		Loader: modules.NewLoader(src.read, r.factories, r.log), Registry: registry, Builtin: builtin,
		Engine: metrics.NewEngine(registry), Settings: &modules.Settings{}, Env: r.cfg.env(),
		Log: r.log, Repeats: vu.NewRepeats(r.log), Run: r, Seed: r.cfg.Seed,
	}
	r.shared.Engine.CountChecks(builtin.Checks)
	r.first, r.script, err = vu.Load(r.ctx, r.shared, 0, src.script)
	switch {
	case r.ctx.Err() != nil:
		return r.interrupted()
	case errors.Is(err, modules.ErrNoScript):
		return fail(InvalidConfig, err)
	case err != nil:
		return r.broken(r.ctx, describe(err))
	}
	if err := r.settle(env); err != nil {
		r.first.Close()
		return err
	}
	return nil
}

// settle merges and checks the options.
func (r *run) settle(env Options) error {
	for _, name := range []string{"setup", "teardown", "handleSummary"} {
		if !modules.IsNullish(r.first.Export(name)) && !r.first.Has(name) {
			return fail(ScriptException, fmt.Errorf("the script's export %s is no function", name))
		}
	}
	exported, err := r.first.ExportJSON("options")
	if err != nil {
		return fail(ScriptException, fmt.Errorf("options: %s", vu.Describe(err)))
	}
	script, warnings, unreadable := ParseOptions(exported)
	logWarnings(r.log, warnings)
	o := script.Apply(env).Apply(r.cfg.Overrides)
	if r.cfg.NoThresholds {
		o.Thresholds = nil
	}
	if o.SummaryTrendStats == nil {
		o.SummaryTrendStats = summary.DefaultTrendStats()
	}
	if o.VUs != nil && len(o.Scenarios) > 0 {
		r.log.Warnf("vus: %d takes the place of the scenarios", *o.VUs)
	}
	faults := []error{unreadable, o.Validate()}
	set, err := thresholds.New(r.shared.Registry, o.Thresholds)
	faults = append(faults, err)
	if err := errors.Join(faults...); err != nil {
		return fail(InvalidConfig, err)
	}
	if _, err := r.shared.Registry.Find("http_req_duration{expected_response:true}"); err != nil {
		return err
	}
	r.options, r.set = o, set
	if err := r.plan(); err != nil {
		return err
	}
	if *r.shared.Settings, err = o.settings(); err != nil {
		return err
	}
	if r.shared.Net, err = o.network(); err != nil {
		return err
	}
	r.shared.Tags = o.Tags
	return nil
}

// execute runs setup, the iterations, teardown and the summary.
func (r *run) execute() (*Result, error) {
	r.shared.Engine.Start(collectEvery)
	begun := time.Now()
	r.begun.Store(begun.UnixNano())
	runCtx, abort := context.WithCancelCause(r.ctx)
	r.abort = abort
	defer abort(nil)
	stopGauges := every(gaugeEvery, r.emitVUs())
	stopThresholds := func() {}
	if r.set.Len() > 0 {
		stopThresholds = every(thresholdEvery, func() {
			r.shared.Engine.View(func() {
				if now := r.set.Evaluate(time.Since(begun), false); now.Abort {
					abort(fmt.Errorf("%w: %s", errCrossed, join(now.Failed)))
				}
			})
		})
	}
	err := r.setup(runCtx)
	if err == nil {
		err = r.iterate(runCtx)
		if terr := r.teardown(); err == nil {
			err = terr
		}
	}
	stopGauges()
	stopThresholds()
	duration := time.Since(begun)
	r.shared.Engine.Stop()
	r.enter(Finished)
	r.shared.Repeats.Flush()

	status := r.status()
	res := &Result{
		Options: r.options, Duration: duration, Seed: r.seed, Lateness: r.lateness(),
		Iterations: status.Iterations, Threw: status.Threw, Interrupted: status.Interrupted,
	}
	r.shared.Engine.View(func() {
		res.FailedThresholds = r.set.Evaluate(duration, true).Failed
		res.UnseenThresholds = r.set.Unseen()
		res.Summary = r.collect(begun, duration)
	})
	r.say(res)
	unwritten := errors.Join(r.outputs.Close(), r.summarize(res.Summary))
	if err == nil && r.failed.Load() {
		err = fail(MarkedFailed, errors.New("the script called test.fail()"))
	}
	if len(res.FailedThresholds) > 0 && KindOf(err) != ThresholdsFailed {
		failed := fail(ThresholdsFailed, fmt.Errorf("thresholds failed on %s", join(res.FailedThresholds)))
		err = errors.Join(err, failed) // what came first decides its kind
	}
	return res, errors.Join(err, unwritten)
}

// lateness is that of the scenarios whose iterations have a time to start at.
func (r *run) lateness() map[string]executor.Lateness {
	late := make(map[string]executor.Lateness)
	for _, s := range r.scenarios {
		if l := s.Lateness(); l.Starts > 0 {
			late[s.Name] = l
		}
	}
	return late
}

// say warns of what would pass in silence.
func (r *run) say(res *Result) {
	if res.Iterations == 0 && len(r.scenarios) > 0 {
		r.log.Warn("no iteration has finished: what takes longer than the run is in none of its figures")
	}
	if res.Iterations > 0 && res.Threw == res.Iterations {
		r.log.Warnf("every iteration threw (%d of %d): what was measured is not the scenario", res.Threw, res.Iterations)
	}
	for _, name := range slices.Sorted(maps.Keys(res.Lateness)) {
		l, log := res.Lateness[name], r.log.Infof
		if l.P99 > tooLate {
			log = r.log.Warnf
		}
		log("scenario %s: 99 %% of %d iterations started at most %s late, the latest %s", name, l.Starts, l.P99, l.Max)
	}
	if r.cfg.PoissonArrivals {
		r.log.Infof("the arrivals are those of seed %d", res.Seed)
	}
	if len(res.UnseenThresholds) > 0 {
		r.log.Warnf("no sample was seen by the thresholds on %s", join(res.UnseenThresholds))
	}
}

func (r *run) setup(ctx context.Context) error {
	if or(r.options.NoSetup, false) || !r.first.Has("setup") {
		return nil
	}
	r.enter(Setup)
	data, err := r.stage(ctx, "setup", SetupTimeout, or(r.options.SetupTimeout, defaultTimeout), nil)
	if err != nil {
		return err
	}
	r.data = data
	r.pool.prepare(data)
	return nil
}

func (r *run) teardown() error {
	if or(r.options.NoTeardown, false) || !r.first.Has("teardown") {
		return nil
	}
	r.enter(Teardown)
	_, err := r.stage(r.hard, "teardown", TeardownTimeout, or(r.options.TeardownTimeout, defaultTimeout), r.data)
	return err
}

// stage calls setup or teardown in a virtual user of its own.
func (r *run) stage(ctx context.Context, name string, late Kind, limit time.Duration, arg setupData) (setupData, error) {
	v, err := vu.New(ctx, r.shared, 0, r.script)
	if err != nil {
		return nil, r.broken(ctx, describe(err))
	}
	defer v.Close()
	tctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := v.Call(tctx, name, "::"+name, arg)
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() == nil && tctx.Err() != nil:
		return nil, fail(late, fmt.Errorf("%s() took longer than %s; the option %sTimeout sets the limit", name, limit, name))
	}
	return nil, r.broken(ctx, fmt.Errorf("%s(): %w", name, describe(err)))
}

// broken is the error of a script that failed, or was ended, with ctx.
func (r *run) broken(ctx context.Context, err error) error {
	var aborted *modules.Aborted
	switch {
	case errors.As(err, &aborted):
		return fail(AbortedByScript, aborted)
	case ctx.Err() != nil:
		return r.ended(ctx)
	}
	return fail(ScriptException, err)
}

// iterate runs the iterations.
func (r *run) iterate(ctx context.Context) error {
	r.started.Store(time.Now().UnixNano())
	r.enter(Running)
	var wg sync.WaitGroup
	for _, s := range r.scenarios {
		s.Pool = r.pool
		wg.Go(func() { s.Run(ctx) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return r.ended(ctx)
	}
	return nil
}

// ended is the error for a context that ended before the run did.
func (r *run) ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	var aborted *modules.Aborted
	switch {
	case errors.Is(cause, errCrossed):
		return fail(ThresholdsFailed, cause)
	case errors.As(cause, &aborted):
		return fail(AbortedByScript, aborted)
	}
	return r.interrupted()
}

// endedEarly is a run that its caller has ended.
type endedEarly struct{ cause error }

func (endedEarly) Error() string   { return "interrupted: the run was ended early" }
func (e endedEarly) Unwrap() error { return e.cause }

// interrupted is that error. The end of hard ends ctx, but a moment later.
func (r *run) interrupted() error {
	cause := context.Cause(r.ctx)
	if cause == nil {
		cause = context.Cause(r.hard)
	}
	return fail(InterruptedRun, endedEarly{cause})
}
