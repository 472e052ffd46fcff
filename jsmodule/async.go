package jsmodule

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/resilience"
)

// executeAsync is execute for a function that returns a promise. The request
// has a goroutine of its own, which waits while the VU does other things;
// whatever touches the runtime is done on the VU's.
func (p *jsPolicy) executeAsync(c sobek.FunctionCall) sobek.Value {
	e := p.parseExecution("policy.executeAsync", c)
	i := p.instance
	promise, resolve, reject := i.host.Runtime().NewPromise()
	record := p.recorder(e.tags)
	vu := &thread{ctx: record.ctx, place: i.host.Callback(), reserve: i.host.Callback}
	request := resilience.Request{
		Observer: record,
		Key:      e.key(),
		Call: func(ctx context.Context, a resilience.Attempt) resilience.Result {
			return vu.await(ctx, func(settle func(resilience.Result)) error {
				value, err := e.attempt(sobek.Undefined(), e.info(a))
				return e.settle(settle, value, err, e.judge)
			})
		},
	}
	if p.fallback != nil {
		request.Fallback = func(ctx context.Context, last resilience.Result) (any, error) {
			attempts := record.attempts
			result := vu.await(vu.ctx, func(settle func(resilience.Result)) error {
				value, err := p.fallback(sobek.Undefined(), i.cause(last, attempts))
				return e.settle(settle, value, err, func(v sobek.Value) (resilience.Result, error) {
					return resilience.Result{Value: v}, nil
				})
			})
			return result.Value, result.Err
		}
	}
	var report resilience.Report
	done := make(chan struct{})
	vu.last = func() error {
		<-done // for a VU that was stopped: the request ends at once then
		var end *sobek.Object
		settle := resolve
		err := i.guarded(func() {
			if result := report.Result; vu.ctx.Err() != nil && result.Outcome != resilience.OK && !result.Degraded {
				result.Outcome = resilience.Cancelled
				end, settle = i.cause(result, report.Attempts), reject
				return
			}
			end = p.outcome(report, record)
		})
		var thrown *sobek.Exception
		switch {
		case errors.As(err, &thrown):
			return reject(thrown.Value())
		case err != nil:
			return err // the runtime is being stopped
		}
		return settle(end)
	}
	go func() {
		report = p.policy.Do(vu.ctx, request)
		record.finish(report)
		close(done)
		vu.leave()
	}()
	return i.host.Runtime().ToValue(promise)
}

// settle tells what came of a call into the script, once the promise that it
// may have returned has settled.
func (e *execution) settle(settle func(resilience.Result), value sobek.Value, err error, judge func(sobek.Value) (resilience.Result, error)) error {
	i := e.policy.instance
	tell := func(result resilience.Result, err error) error {
		settle(result)
		return err
	}
	if err == nil {
		err = i.then(value, func(v sobek.Value) (err error) {
			if thrown := i.host.Runtime().Try(func() { err = tell(judge(v)) }); thrown != nil {
				return tell(e.failed(thrown))
			}
			return err
		}, func(reason sobek.Value) error {
			return tell(resilience.Result{Outcome: resilience.Thrown, Err: i.rejected(reason)}, nil)
		})
	}
	if err != nil {
		return tell(e.failed(err))
	}
	return nil
}

// then goes on with a value as await does: with what a promise, or another
// object with a method then, settles with, and with any other as it is.
func (i *Instance) then(value sobek.Value, kept, broken func(sobek.Value) error) error {
	rt := i.host.Runtime()
	if !promised(value) {
		promise, resolve, _ := rt.NewPromise()
		if err := resolve(value); err != nil {
			return err
		}
		value = rt.ToValue(promise)
	}
	reaction := func(f func(sobek.Value) error) sobek.Value {
		return rt.ToValue(func(c sobek.FunctionCall) sobek.Value {
			if err := f(c.Argument(0)); err != nil {
				panic(err) // the runtime is being stopped
			}
			return sobek.Undefined()
		})
	}
	_, err := i.promiseThen(value, reaction(kept), reaction(broken))
	return err
}

// guarded runs f where no script calls: what f throws, and the end of a runtime
// that is being stopped, is an error.
func (i *Instance) guarded(f func()) error {
	call, _ := sobek.AssertFunction(i.host.Runtime().ToValue(func(sobek.FunctionCall) sobek.Value {
		f()
		return sobek.Undefined()
	}))
	_, err := call(sobek.Undefined())
	return err
}

// thread gives the goroutine of one request turns on the VU's. It always holds
// one place on the VU's event loop, so that the loop waits for the request.
type thread struct {
	ctx     context.Context           // the VU's
	place   func(task func() error)   // nil: a task was left behind on a loop that has ended
	reserve func() func(func() error) // on the VU's goroutine only
	last    func() error              // what to do there at the end
}

// await runs begin on the VU's goroutine and waits until it has settled, or
// until ctx ends. Begin is not run any more once ctx has ended.
func (t *thread) await(ctx context.Context, begin func(settle func(resilience.Result)) error) resilience.Result {
	if t.place == nil {
		return ended(ctx)
	}
	settled := make(chan resilience.Result, 1)
	next := make(chan func(func() error), 1)
	var taken atomic.Bool // by the task or, when the VU is stopped, by this goroutine
	use := t.place
	t.place = nil
	use(func() error {
		if !taken.CompareAndSwap(false, true) {
			return t.last()
		}
		next <- t.reserve()
		if ctx.Err() != nil {
			return nil
		}
		return begin(func(result resilience.Result) {
			select {
			case settled <- result:
			default: // it has settled already
			}
		})
	})
	select {
	case t.place = <-next:
	case <-t.ctx.Done():
		if taken.CompareAndSwap(false, true) {
			return ended(ctx)
		}
		t.place = <-next
	}
	select {
	case result := <-settled:
		return result
	case <-ctx.Done():
		return ended(ctx)
	}
}

// ended is the result of what was given up. Of an attempt the executor finds out
// by itself which guard, if any, has ended ctx.
func ended(ctx context.Context) resilience.Result {
	return resilience.Result{Outcome: resilience.Cancelled, Err: context.Cause(ctx)}
}

// leave gives up the place: the last thing to do is done in it, or in the task
// that was left behind.
func (t *thread) leave() {
	if t.place != nil {
		t.place(t.last)
	}
}
