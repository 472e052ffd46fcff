package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/summary"
	"github.com/retrylab/retrylab/runner/thresholds"
	"github.com/retrylab/retrylab/runner/vu"
)

const (
	scenario       = "default"
	collectEvery   = 50 * time.Millisecond
	thresholdEvery = 2 * time.Second
	gaugeEvery     = time.Second
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
	exec    executor.Executor
	set     *thresholds.Set
	vus     []executor.VU
	state   executor.State
	data    setupData

	phase          atomic.Uint32
	ready          atomic.Int64
	begun, started atomic.Int64 // when the clock, and the iterations, began
	progressMu     sync.Mutex
}

func (r *run) all() (*Result, error) {
	if err := r.prepare(); err != nil {
		return nil, err
	}
	defer r.first.Close()
	defer func() {
		for _, v := range r.vus {
			if v != nil {
				v.(*vu.VU).Close()
			}
		}
	}()
	stopProgress := r.reportProgress()
	defer stopProgress()
	if err := r.makeVUs(); err != nil {
		return nil, err
	}
	return r.execute()
}

// prepare loads the script and settles the options.
func (r *run) prepare() error {
	src, err := newSource(r.cfg.Script, r.cfg.FS)
	if err != nil {
		return fail(InvalidConfig, err)
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
		Log: r.log, Repeats: vu.NewRepeats(r.log),
	}
	r.shared.Engine.CountChecks(builtin.Checks)
	r.first, r.script, err = vu.Load(r.ctx, r.shared, 0, src.script)
	switch {
	case r.ctx.Err() != nil:
		return r.interrupted()
	case errors.Is(err, modules.ErrNoScript):
		return fail(InvalidConfig, err)
	case err != nil:
		return fail(ScriptException, errors.New(vu.Describe(err)))
	}
	if err := r.settle(env); err != nil {
		r.first.Close()
		return err
	}
	return nil
}

// settle merges and checks the options.
func (r *run) settle(env Options) error {
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
	if o.lonelyVUs() {
		r.log.Warnf("vus: %d is ignored without a duration or a number of iterations", *o.VUs)
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
	if !r.first.Has("default") {
		return fail(ScriptException, errors.New("the script exports no default function: want `export default function () { … }`"))
	}
	r.options, r.set, r.exec = o, set, o.Executor()
	*r.shared.Settings = modules.Settings{
		UserAgent:             or(o.UserAgent, "retrylab"),
		Throw:                 or(o.Throw, false),
		DiscardResponseBodies: or(o.DiscardResponseBodies, false),
		MaxRedirects:          or(o.MaxRedirects, 10),
		Batch:                 or(o.Batch, 20), BatchPerHost: or(o.BatchPerHost, 6),
		NoCookiesReset: or(o.NoCookiesReset, false),
	}
	r.shared.Net = vu.Net{
		InsecureSkipTLSVerify: or(o.InsecureSkipTLSVerify, false),
		NoConnectionReuse:     or(o.NoConnectionReuse, false),
		NoVUConnectionReuse:   or(o.NoVUConnectionReuse, false),
	}
	r.shared.Tags = o.Tags
	return nil
}

// makeVUs makes the virtual users, on as many goroutines as there are
// processors, before any clock starts.
func (r *run) makeVUs() error {
	r.vus = make([]executor.VU, r.exec.VUs())
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	var next atomic.Int64
	var once sync.Once
	var failure error
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(r.vus)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(r.vus) || ctx.Err() != nil {
					return
				}
				v, err := vu.New(ctx, r.shared, uint64(i+1), r.script)
				if err != nil {
					once.Do(func() { failure = fmt.Errorf("VU %d: %s", i+1, vu.Describe(err)) })
					cancel()
					return
				}
				r.vus[i] = v
				r.ready.Add(1)
			}
		})
	}
	wg.Wait()
	if r.ctx.Err() != nil {
		return r.interrupted()
	}
	return fail(ScriptException, failure)
}

// execute runs setup, the iterations, teardown and the summary.
func (r *run) execute() (*Result, error) {
	r.shared.Engine.Start(collectEvery)
	begun := time.Now()
	r.begun.Store(begun.UnixNano())
	runCtx, abort := context.WithCancelCause(r.ctx)
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

	res := &Result{
		Options: r.options, Duration: duration,
		Iterations: r.state.Iterations(), Threw: r.state.Threw(), Interrupted: r.state.Interrupted(),
	}
	r.shared.Engine.View(func() {
		res.FailedThresholds = r.set.Evaluate(duration, true).Failed
		res.UnseenThresholds = r.set.Unseen()
		res.Summary = summary.Collect(r.shared.Registry, r.shared.Engine, r.set, r.options.SummaryTrendStats, duration)
	})
	res.Summary.TimeUnit, res.Summary.NoColor = or(r.options.SummaryTimeUnit, ""), r.cfg.NoColor
	res.Summary.StdoutTTY, res.Summary.StderrTTY = r.cfg.StdoutTTY, r.cfg.StderrTTY
	res.Summary.SetupData = r.data
	r.say(res)
	unwritten := r.summarize(res.Summary)
	if len(res.FailedThresholds) > 0 && KindOf(err) != ThresholdsFailed {
		failed := fail(ThresholdsFailed, fmt.Errorf("thresholds failed on %s", join(res.FailedThresholds)))
		err = errors.Join(err, failed) // what ended the run comes first, and decides its kind
	}
	return res, errors.Join(err, unwritten)
}

// say warns of what would pass in silence.
func (r *run) say(res *Result) {
	if res.Iterations > 0 && res.Threw == res.Iterations {
		r.log.Warnf("every iteration threw (%d of %d): what was measured is not the scenario", res.Threw, res.Iterations)
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
	for _, v := range r.vus {
		v.(*vu.VU).Prepare(data)
	}
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
		if ctx.Err() != nil {
			return nil, r.ended(ctx)
		}
		return nil, fail(ScriptException, errors.New(vu.Describe(err)))
	}
	defer v.Close()
	tctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := v.Call(tctx, name, "::"+name, arg)
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, r.ended(ctx)
	case tctx.Err() != nil:
		return nil, fail(late, fmt.Errorf("%s() took longer than %s; the option %sTimeout sets the limit", name, limit, name))
	}
	return nil, fail(ScriptException, fmt.Errorf("%s(): %s", name, vu.Describe(err)))
}

// iterate runs the iterations.
func (r *run) iterate(ctx context.Context) error {
	r.started.Store(time.Now().UnixNano())
	r.enter(Running)
	r.exec.Run(ctx, scenario, r.vus, &r.state)
	if ctx.Err() != nil {
		return r.ended(ctx)
	}
	return nil
}

// ended is the error for a context that ended before the run did.
func (r *run) ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errCrossed) {
		return fail(ThresholdsFailed, context.Cause(ctx))
	}
	return r.interrupted()
}

// endedEarly is a run that its caller has ended.
type endedEarly struct{ cause error }

func (endedEarly) Error() string   { return "interrupted: the run was ended early" }
func (e endedEarly) Unwrap() error { return e.cause }

func (r *run) interrupted() error {
	return fail(InterruptedRun, endedEarly{context.Cause(r.ctx)})
}

// emitVUs returns what emits the gauges of virtual users.
func (r *run) emitVUs() func() {
	buffer, b := r.shared.Engine.NewBuffer(), r.shared.Builtin
	tags := r.shared.Registry.Root()
	for k, v := range r.options.Tags {
		tags = tags.With(k, v)
	}
	return func() {
		at := time.Now().UnixNano()
		buffer.Push(r.hard,
			metrics.Sample{Metric: b.VUs, Tags: tags, Time: at, Value: float64(r.state.Active())},
			metrics.Sample{Metric: b.VUsMax, Tags: tags, Time: at, Value: float64(len(r.vus))},
		)
	}
}

// every calls f at an interval on a goroutine of its own, until stop.
func every(interval time.Duration, f func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				f()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
