package vu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/metrics"
	"github.com/retrylab/retrylab/runner/modules"
)

var _ executor.VU = (*VU)(nil)

// Prepare sets what the default function gets: setup's data, as JSON, or nil.
// Each virtual user makes its own value of it when it is activated.
func (v *VU) Prepare(data json.RawMessage) { v.setup = data }

// Activate lets the virtual user run iterations of a scenario until ctx ends,
// when a running one is interrupted. Deactivate must follow.
func (v *VU) Activate(ctx context.Context, s *executor.Scenario) {
	v.ctx = ctx
	v.base = v.root
	for key, value := range s.Tags {
		v.base = v.base.With(key, value)
	}
	v.base = v.systemTag(v.base, "scenario", s.Name)
	v.tags = v.base
	v.place.Scenario = s
	v.def, _ = sobek.AssertFunction(v.Export(s.Exec))
	if env, err := v.env(s.Env); err == nil { // plain text can always be set
		_ = v.rt.Set("__ENV", env)
	}
	if v.setup != nil && v.data == nil {
		// It was made by JSON.stringify, so that it can be read.
		v.data, _ = v.parse(v.setup)
	}
	v.stop = v.interruptible(ctx)
}

// Deactivate undoes Activate.
func (v *VU) Deactivate() {
	v.place = modules.Place{}
	if v.stop != nil {
		v.stop()
		v.stop = nil
	}
}

// Iterate runs the scenario's function once and emits the iteration's metrics.
func (v *VU) Iterate() executor.Outcome {
	s := v.place.Scenario
	v.iteration++
	v.place.IterationInScenario = v.inScenario[s]
	v.inScenario[s]++
	v.place.ScenarioInstance, v.place.ScenarioTest = s.Next()
	tags := v.base
	if v.shared.Settings.SystemTags.Has("iter") {
		tags = v.systemTag(tags, "iter", strconv.FormatInt(v.iteration, 10))
	}
	v.tags = tags
	_ = v.rt.GlobalObject().Set("__ITER", v.iteration)
	start := time.Now()
	err := v.run(v.ctx, func() (sobek.Value, error) {
		if v.data == nil {
			return v.def(sobek.Undefined())
		}
		return v.def(sobek.Undefined(), v.data)
	}, nil)
	end := time.Now()
	v.tags = tags
	if v.shared.Net.NoVUConnectionReuse {
		v.transport.CloseIdleConnections()
	}
	if v.ctx.Err() != nil {
		return executor.Interrupted
	}
	b, at := v.shared.Builtin, end.UnixNano()
	sent, received := v.traffic()
	v.buffer.Push(v.ctx,
		metrics.Sample{Metric: b.DataSent, Tags: v.tags, Time: at, Value: sent},
		metrics.Sample{Metric: b.DataReceived, Tags: v.tags, Time: at, Value: received},
		metrics.Sample{Metric: b.IterationDuration, Tags: v.tags, Time: at, Value: milliseconds(end.Sub(start))},
		metrics.Sample{Metric: b.Iterations, Tags: v.tags, Time: at, Value: 1},
	)
	var aborted *modules.Aborted
	if errors.As(err, &aborted) {
		v.shared.Run.Abort(aborted.Reason)
		return executor.Done
	}
	v.rest(start)
	if err != nil {
		v.shared.Repeats.Error(Describe(err), "an iteration threw")
		return executor.Threw
	}
	return executor.Done
}

// rest waits until an iteration has taken as long as one must.
func (v *VU) rest(start time.Time) {
	left := v.shared.MinIteration - time.Since(start)
	if left <= 0 {
		return
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
	case <-v.ctx.Done():
	}
}

// Call runs an exported function, waits for the promise it may return, and
// gives back its value as JSON, nil for undefined. group is the tag of what it
// samples.
func (v *VU) Call(ctx context.Context, name, group string, args ...json.RawMessage) (json.RawMessage, error) {
	var out json.RawMessage
	err := v.CallWith(ctx, name, group, func(val sobek.Value) error {
		if modules.IsNullish(val) && !sobek.IsNull(val) {
			return nil
		}
		var err error
		out, err = v.stringify(val)
		return err
	}, args...)
	return out, err
}

// CallWith is Call with the value handed to use, on the VU's goroutine.
func (v *VU) CallWith(ctx context.Context, name, group string, use func(sobek.Value) error, args ...json.RawMessage) error {
	fn, ok := sobek.AssertFunction(v.Export(name))
	if !ok {
		return fmt.Errorf("the script exports no function %s", name)
	}
	vals := make([]sobek.Value, len(args))
	for i, a := range args {
		vals[i] = sobek.Undefined()
		if a == nil {
			continue
		}
		var err error
		if vals[i], err = v.parse(a); err != nil {
			return fmt.Errorf("arguments of %s: %w", name, err)
		}
	}
	v.ctx = ctx
	v.base = v.systemTag(v.base, "group", group)
	v.tags = v.base
	release := v.interruptible(ctx)
	defer release()
	err := v.run(ctx, func() (sobek.Value, error) { return fn(sobek.Undefined(), vals...) }, use)
	at := now()
	sent, received := v.traffic()
	v.buffer.Push(ctx,
		metrics.Sample{Metric: v.shared.Builtin.DataSent, Tags: v.base, Time: at, Value: sent},
		metrics.Sample{Metric: v.shared.Builtin.DataReceived, Tags: v.base, Time: at, Value: received},
	)
	return err
}

// run calls a function on the event loop until everything it started is done.
func (v *VU) run(ctx context.Context, call func() (sobek.Value, error), use func(sobek.Value) error) error {
	var result sobek.Value
	err := v.loop.run(ctx, func() error {
		val, err := call()
		result = val
		if err != nil {
			clear(v.rejected)
			return err
		}
		return v.unhandled(nil)
	}, v.timers.dropAll)
	if err != nil {
		v.timers.dropAll()
		clear(v.rejected)
		return err
	}
	if result != nil {
		if p, ok := result.Export().(*sobek.Promise); ok {
			switch p.State() {
			case sobek.PromiseStateRejected:
				return rejection(p)
			case sobek.PromiseStatePending:
				result = sobek.Undefined()
			default:
				result = p.Result()
			}
		}
	}
	if use != nil {
		return use(result)
	}
	return nil
}

// unhandled is the error of the first promise that was rejected with nobody
// to handle it.
func (v *VU) unhandled(own *sobek.Promise) error {
	if own != nil && own.State() == sobek.PromiseStateRejected {
		clear(v.rejected)
		return rejection(own)
	}
	for p := range v.rejected {
		clear(v.rejected)
		return rejection(p)
	}
	return nil
}

// rejection is why a promise was rejected, as an error.
func rejection(p *sobek.Promise) error {
	res := p.Result()
	if res == nil {
		return errors.New("promise rejected")
	}
	if err, ok := res.Export().(error); ok {
		return err
	}
	if o, ok := res.(*sobek.Object); ok {
		if stack := o.Get("stack"); !modules.IsNullish(stack) {
			return errors.New(stack.String())
		}
	}
	return fmt.Errorf("uncaught (in promise) %s", res.String())
}

// Describe is a script's error with its stack, as it is logged.
func Describe(err error) string {
	var ex *sobek.Exception
	if errors.As(err, &ex) {
		if o, ok := ex.Value().(*sobek.Object); ok {
			if stack := o.Get("stack"); !modules.IsNullish(stack) && stack.String() != "" {
				return stack.String()
			}
			if text, err := o.MarshalJSON(); err == nil {
				return string(text)
			}
		}
		return ex.String()
	}
	return err.Error()
}

func (v *VU) traffic() (sent, received float64) {
	return float64(v.wire.sent.Swap(0)), float64(v.wire.received.Swap(0))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
