// Package vu is a virtual user: one JS runtime with its event loop, tags,
// connections and module instances.
package vu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/modules/web"
	"github.com/retrylab/retrylab/runner/vu/http1"
)

// Shared is what the virtual users of a run have in common.
type Shared struct {
	Loader   *modules.Loader
	Registry *metrics.Registry
	Builtin  *metrics.Builtin
	Engine   *metrics.Engine
	Settings *modules.Settings
	Net      Net
	// Env is the script's __ENV.
	Env map[string]string
	// Tags are those that all samples carry.
	Tags map[string]string
	Log  logrus.FieldLogger
	// Repeats counts what would be logged again and again.
	Repeats *Repeats
	// Run is the run.
	Run modules.Run
	// Segment is the part of the run that is here.
	Segment executor.Segment
	// MinIteration is how long an iteration takes at least.
	MinIteration time.Duration
	// Seed makes Math.random repeat itself; nil leaves it to chance.
	Seed *uint64
}

// ErrInterrupted ends a script that runs when its context ends.
var ErrInterrupted = errors.New("interrupted")

// VU is a virtual user. Apart from what [modules.VU] allows it is used by one
// goroutine at a time.
type VU struct {
	shared *Shared
	id     uint64
	rt     *sobek.Runtime
	log    logrus.FieldLogger
	loop   *loop
	timers *timers
	script *modules.Script
	detach func()

	ctx       context.Context
	init      bool
	iteration int64
	tags      *metrics.TagSet
	root      *metrics.TagSet // of all that it samples
	base      *metrics.TagSet // of all in this activation
	buffer    *metrics.Buffer
	transport *http1.Transport
	wire      wire
	stop      func() // undoes the activation

	idInTest   uint64
	place      modules.Place
	inScenario map[*executor.Scenario]int64 // iterations
	required   int                          // how deep the calls were at the innermost require()

	rejected map[*sobek.Promise]struct{}
	flush    sobek.Callable // runs the jobs of settled promises
	def      sobek.Callable
	setup    json.RawMessage // setup's data, and data its value here
	data     sobek.Value
}

var _ modules.VU = (*VU)(nil)

// Load makes the first virtual user of a run: it loads the script at path and
// runs its init code. id 0 is for init, setup, teardown and the summary.
func Load(ctx context.Context, shared *Shared, id uint64, path string) (*VU, *modules.Script, error) {
	v, err := bare(ctx, shared, id)
	if err != nil {
		return nil, nil, err
	}
	script, err := shared.Loader.Load(path, v)
	if err == nil {
		err = v.evaluate(script)
		shared.Loader.Lock()
	}
	if err != nil {
		v.Close()
		return nil, nil, err
	}
	return v, script, nil
}

// New makes a virtual user of a script that was loaded, and runs its init code.
func New(ctx context.Context, shared *Shared, id uint64, script *modules.Script) (*VU, error) {
	v, err := bare(ctx, shared, id)
	if err != nil {
		return nil, err
	}
	if err := v.evaluate(script); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

func bare(ctx context.Context, shared *Shared, id uint64) (*VU, error) {
	v := &VU{
		shared: shared, id: id, rt: sobek.New(), log: shared.Log, loop: newLoop(),
		ctx: ctx, init: true, iteration: -1, buffer: shared.Engine.NewBuffer(),
		rejected: make(map[*sobek.Promise]struct{}), inScenario: make(map[*executor.Scenario]int64),
	}
	v.transport = newTransport(shared.Net, &v.wire)
	v.root = shared.Registry.Root()
	for k, val := range shared.Tags {
		v.root = v.root.With(k, val)
	}
	v.root = v.systemTag(v.root, "group", "")
	v.root = v.systemTag(v.root, "vu", strconv.FormatUint(id, 10))
	v.base, v.tags = v.root, v.root
	if id > 0 {
		v.idInTest = uint64(shared.Segment.Nth(int64(id-1))) + 1
	}
	v.timers = &timers{loop: v.loop, rt: v.rt}
	if shared.Seed != nil {
		v.Seed(*shared.Seed)
	}
	v.rt.SetFieldNameMapper(sobek.TagFieldNameMapper("js", true))
	v.rt.SetPromiseRejectionTracker(func(p *sobek.Promise, op sobek.PromiseRejectionOperation) {
		if op == sobek.PromiseRejectionReject {
			v.rejected[p] = struct{}{}
		} else {
			delete(v.rejected, p)
		}
	})
	v.detach = shared.Loader.Attach(v)
	if err := v.installGlobals(); err != nil {
		v.Close()
		return nil, fmt.Errorf("prepare the runtime: %w", err)
	}
	return v, nil
}

func (v *VU) installGlobals() error {
	env, err := v.env(nil)
	if err != nil {
		return err
	}
	v.flush, _ = sobek.AssertFunction(v.rt.ToValue(func(sobek.FunctionCall) sobek.Value { return sobek.Undefined() }))
	for name, val := range map[string]any{
		"__ENV": env, "__VU": v.id, "open": v.open, "require": v.require, "global": v.rt.GlobalObject(),
	} {
		if err := v.rt.Set(name, val); err != nil {
			return err
		}
	}
	if err := v.installConsole(); err != nil {
		return err
	}
	if err := v.timers.install(); err != nil {
		return err
	}
	return web.Install(v)
}

// Seed makes Math.random repeat itself from now on: two virtual users have
// different numbers, two runs of one have the same.
func (v *VU) Seed(seed uint64) { v.rt.SetRandSource(rand.New(rand.NewPCG(seed, v.id)).Float64) }

// env is the run's __ENV with more entries.
func (v *VU) env(more map[string]string) (*sobek.Object, error) {
	env := v.rt.NewObject()
	for _, entries := range []map[string]string{v.shared.Env, more} {
		for k, val := range entries {
			if err := env.Set(k, val); err != nil {
				return nil, err
			}
		}
	}
	return env, nil
}

func (v *VU) evaluate(script *modules.Script) error {
	v.script = script
	release := v.interruptible(v.ctx)
	var p *sobek.Promise
	err := v.loop.run(v.ctx, func() error {
		p = script.Evaluate(v.rt)
		return v.unhandled(p)
	}, v.timers.dropAll)
	release()
	if err != nil {
		return script.Explain(err)
	}
	if p.State() == sobek.PromiseStatePending {
		return errors.New("the script's top level awaits something that never comes")
	}
	v.init = false
	v.def, _ = sobek.AssertFunction(script.Exports(v.rt).Get("default"))
	return nil
}

// open is the script's open(): a file's text or, with "b", its bytes.
func (v *VU) open(call sobek.FunctionCall) sobek.Value {
	name := v.specifier("open", call)
	file := strings.TrimPrefix(name, "file://")
	if !strings.HasPrefix(file, "/") {
		_, base, _ := v.callers()
		file = path.Join("/", path.Dir(base), file)
	}
	file = path.Clean(file)
	b, err := v.shared.Loader.ReadFile(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("no such file")
		}
		modules.Throw(v.rt, "open(%q): %s: %s", name, file, err)
	}
	if call.Argument(1).String() == "b" {
		return v.rt.ToValue(v.rt.NewArrayBuffer(append([]byte(nil), b...)))
	}
	return v.rt.ToValue(string(b))
}

// require is the script's require().
func (v *VU) require(call sobek.FunctionCall) sobek.Value {
	name := v.specifier("require", call)
	from, _, depth := v.callers()
	outer := v.required
	v.required = depth
	defer func() { v.required = outer }()
	exports, err := v.shared.Loader.Require(v.rt, from, name)
	if err != nil {
		var thrown *sobek.Exception
		if errors.As(err, &thrown) {
			modules.Rethrow(v.rt, thrown)
		}
		modules.Throw(v.rt, "require(%q): %s", name, err)
	}
	return exports
}

// callers are the files of the JS that runs: the one that called Go, and the
// one of the outermost call since the innermost require(), which as in k6 is
// what the paths of open() are relative to; depth is how deep the calls are.
func (v *VU) callers() (inner, outer string, depth int) {
	frames := v.rt.CaptureCallStack(0, nil)
	depth = len(frames)
	for _, f := range frames[:max(depth-v.required, 0)] {
		if src := f.SrcName(); strings.HasPrefix(src, "/") {
			if inner == "" {
				inner = src
			}
			outer = src
		}
	}
	return inner, outer, depth
}

// specifier is the first argument of open() or require().
func (v *VU) specifier(of string, call sobek.FunctionCall) string {
	if !v.init {
		modules.Throw(v.rt, "%s() works in the init context only (the script's top level)", of)
	}
	name := call.Argument(0)
	if modules.IsNullish(name) || name.String() == "" {
		modules.Throw(v.rt, "%s() needs the path of a file", of)
	}
	return name.String()
}

// Export is an export of the script, nil if it has none of this name.
func (v *VU) Export(name string) sobek.Value {
	return v.script.Exports(v.rt).Get(name)
}

// ExportJSON is an export as JSON, nil if there is none.
func (v *VU) ExportJSON(name string) (json.RawMessage, error) {
	val := v.Export(name)
	if modules.IsNullish(val) {
		return nil, nil
	}
	return v.stringify(val)
}

// Has says whether the script exports a function of this name.
func (v *VU) Has(name string) bool {
	_, ok := sobek.AssertFunction(v.Export(name))
	return ok
}

// interruptible interrupts running JS when ctx ends, until release.
func (v *VU) interruptible(ctx context.Context) (release func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		v.rt.Interrupt(ErrInterrupted)
	})
	return func() {
		if !stop() {
			<-done
		}
		v.rt.ClearInterrupt()
	}
}

// Close ends the virtual user and closes its idle connections.
func (v *VU) Close() {
	v.timers.dropAll()
	v.transport.CloseIdleConnections()
	if v.detach != nil {
		v.detach()
	}
}

func now() int64 { return time.Now().UnixNano() }
