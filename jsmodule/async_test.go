package jsmodule_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/grafana/sobek"
	"github.com/retrylab/retrylab/jsmodule"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// watch is what a script sees of the promise p.
const watch = `var seen = [];
	p.then((o) => seen.push(['resolved', o.ok]), (e) => seen.push([e instanceof Error, e.name, e.code, e.attempts, e.message]));`

func TestPromiseRejectsWhenTheContextOfTheVUEnds(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		message string
	}{
		"during a wait": {
			`new Policy({ name: 'w', guards: [{ retry: { backoff: { initial: '10s' } } }] }).executeAsync(async () => { throw new Error('boom') })`,
			"interrupted while waiting to retry: the test is over; last attempt: Error: boom",
		},
		"during an attempt": {
			`new Policy({ name: 'a', guards: [] }).executeAsync(() => new Promise(() => {}))`,
			"the test is over",
		},
		"during a fallback": {
			`new Policy({ name: 'f', guards: [{ fallback: () => new Promise(() => {}) }] }).executeAsync(() => { throw new Error('boom') })`,
			"fallback failed: the test is over; it was asked because: Error: boom",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newModule(t))
				ctx, cancel := context.WithCancelCause(t.Context())
				h.ctx, h.owner = ctx, goroutine()
				h.run(t, "var p = "+c.script+";"+watch)
				for range 2 { // the attempt and, where there is one, the fallback
					synctest.Wait()
					select {
					case task := <-h.tasks:
						require.NoError(t, task())
						h.pending--
					default:
					}
				}
				assert.Equal(t, 1, h.pending, "the event loop waits for the request")
				begin := time.Now()
				cancel(&stopped{})
				h.loop(t)
				assert.Zero(t, time.Since(begin), "at once")
				assert.Equal(t, []any{[]any{true, "AbortError", "cancelled", int64(1), c.message}}, h.run(t, `seen`))
			})
		})
	}
}

// stopped is the cause of a context that the test ends.
type stopped struct{}

func (*stopped) Error() string { return "the test is over" }

// The VU is stopped while a task for it waits: its loop may run the task or
// drop it, and nothing waits for that.
func TestPromiseRejectsOnceWhereATaskWasLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newModule(t))
		ctx, cancel := context.WithCancelCause(t.Context())
		h.ctx, h.owner = ctx, goroutine()
		h.run(t, `var calls = 0; var p = new Policy({ name: 'l', guards: [{ retry: {} }] }).executeAsync(async () => { calls++; });`+watch)
		synctest.Wait()
		cancel(&stopped{})
		synctest.Wait() // the request's goroutine has ended
		assert.Equal(t, 1.0, h.count("resilience_attempts"))
		h.loop(t)
		assert.Equal(t, []any{[]any{true, "AbortError", "cancelled", int64(1), "the test is over"}}, h.run(t, `seen`))
		assert.EqualValues(t, 0, h.run(t, `calls`), "no script code runs any more")
		assert.Zero(t, h.pending)
	})
}

func TestOnlyTheVUsGoroutineTouchesTheVU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newModule(t))
		h.owner = goroutine()
		h.run(t, `
			const policy = new Policy({ name: 'o', guards: [{ fallback: async (e) => e.message }, { retry: { backoff: { initial: 1 } } },
				{ breaker: { window: { consecutive: 2 }, openFor: 1 } }, { timeout: 50 }] }, { logRetries: true });
			var outs = [];
			for (let n = 0; n < 50; n++) {
				policy.executeAsync(async () => { await null; throw { toString() { return 'text' } } }).then((o) => outs.push(o.result));
			}`)
		h.loop(t)
		assert.Len(t, h.run(t, `outs`), 50)
		assert.Equal(t, 50.0, h.count("resilience_requests"))
	})
}

func TestSamplesHaveTheTagsOfWhenTheRequestBegan(t *testing.T) {
	h := newHost(t, newModule(t))
	h.group = "before"
	h.run(t, `new Policy({ name: 's', guards: [] }).executeAsync(async () => 1, { tags: { step: 'pay', n: 1 } })`)
	h.group = "after"
	h.loop(t)
	require.Len(t, h.tags, 1)
	for tags := range h.tags {
		assert.Regexp(t, `^before\[(step pay n 1|n 1 step pay) policy s\]$`, tags)
	}
}

// A promise that settles after its attempt was given up changes nothing.
func TestLateSettlingIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newModule(t))
		h.owner = goroutine()
		h.run(t, `var settle; var p = new Policy({ name: 't', guards: [{ timeout: 50 }] }).executeAsync(() => new Promise((ok) => { settle = ok }));`+watch)
		h.loop(t)
		h.run(t, `settle(1)`)
		assert.Equal(t, []any{[]any{"resolved", false}}, h.run(t, `seen`))
		assert.Equal(t, []float64{50}, h.samples["resilience_attempt_duration"])
	})
}

// A hundred VUs share one breaker by its name: each change of state is seen by
// all of them and counted once.
func TestHundredVUsShareOneBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModule(t)
		hosts := make([]*host, 100)
		for i := range hosts {
			hosts[i] = newHost(t, m)
			hosts[i].run(t, `const policy = new Policy({ name: 'shared', guards: [
				{ breaker: { window: { consecutive: 5 }, openFor: '1s', halfOpen: { calls: 3 } } }] });
				const fail = () => policy.execute(() => ({ status: 500 }));
				const work = () => policy.execute(() => 1);
				const state = () => policy.state().breaker.state;`)
		}
		all := func(script string) {
			var wg sync.WaitGroup
			for _, h := range hosts {
				wg.Go(func() {
					_, err := h.rt.RunString(script)
					assert.NoError(t, err)
				})
			}
			wg.Wait()
		}
		sum := func(metric string) (total float64) {
			for _, h := range hosts {
				total += h.count(metric)
			}
			return total
		}
		states := func() map[any]int {
			seen := map[any]int{}
			for _, h := range hosts {
				seen[h.run(t, `state()`)]++
			}
			return seen
		}
		all(`for (let n = 0; n < 3; n++) fail()`)
		assert.Equal(t, map[any]int{"open": 100}, states())
		assert.Equal(t, 1.0, sum("resilience_breaker_transitions"))
		assert.Equal(t, 300.0, sum("resilience_downstream_calls")+sum("resilience_rejected_breaker"))

		time.Sleep(time.Second)
		all(`work(); work()`)
		assert.Equal(t, map[any]int{"closed": 100}, states())
		assert.Equal(t, 3.0, sum("resilience_breaker_transitions"), "to open, half-open, closed")
	})
}

func TestRetriesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newModule(t))
		h.run(t, `
			const guards = [{ retry: { maxAttempts: 2, backoff: { initial: 500 } } }, { retry: { maxAttempts: 2 } }];
			const fail = () => ({ status: 503 });
			new Policy({ name: 'quiet', guards }).execute(fail);
			new Policy({ name: 'loud', guards }, { logRetries: true }).execute(fail);`)
		var lines []string
		for _, e := range h.logged.AllEntries() {
			assert.Len(t, e.Data, 1)
			lines = append(lines, e.Level.String()+" "+e.Data["policy"].(string)+" "+e.Message)
		}
		const why = ": status 503 Service Unavailable"
		assert.Equal(t, []string{
			"debug quiet retry 1 at once" + why, "debug quiet retry 2 in 500ms" + why, "debug quiet retry 3 at once" + why,
			"info loud retry 1 at once" + why, "info loud retry 2 in 500ms" + why, "info loud retry 3 at once" + why,
		}, lines)
	})
}

// Once a JS value was read for a log on another goroutine than its runtime's.
func TestErrorsOfScriptsAreTextBeforeTheyLeaveTheVU(t *testing.T) {
	h := newHost(t, newModule(t))
	got := h.run(t, `
		const bare = new Policy({ name: 'bare', guards: [] });
		const hostile = { get message() { throw 1 }, toString() { throw 2 } };
		bare.execute(() => { throw hostile }).error.message`)
	assert.Equal(t, "what was thrown has no text", got)
}

func BenchmarkExecuteAsync(b *testing.B) {
	h := newHost(b, jsmodule.New(nil))
	v, err := h.rt.RunString(`const p = new Policy('jitter'); () => { p.executeAsync(async () => 1) }`)
	require.NoError(b, err)
	f, _ := sobek.AssertFunction(v)
	for b.Loop() {
		_, err := f(sobek.Undefined())
		require.NoError(b, err)
		for ; h.pending > 0; h.pending-- {
			require.NoError(b, (<-h.tasks)())
		}
	}
}

// Once what a script threw in a task of the event loop ended the process.
func TestPromiseRejectsWhereTheOutcomeCannotBeMade(t *testing.T) {
	h := newHost(t, newModule(t))
	h.run(t, `Object.defineProperty(Object.prototype, 'waitedMs', { set() { throw new RangeError('no outcome') } });
		var seen;
		new Policy({ name: 'p', guards: [] }).executeAsync(async () => 1).catch((e) => { seen = [e.name, e.message] });`)
	h.loop(t)
	assert.Equal(t, []any{"RangeError", "no outcome"}, h.run(t, `seen`))
}

// An interrupted runtime ends the task with its error: not the process, and
// the request is not tried again.
func TestInterruptEndsTheTaskOfARequest(t *testing.T) {
	for name, call := range map[string]string{
		"in the function":            `async () => stop()`,
		"after an await":             `async () => { await null; stop() }`,
		"in isFailure":               `async () => 1, { isFailure: stop }`,
		"in a status that is judged": `() => ({ get status() { stop() } })`,
		"in a status that is told":   `() => ({ get status() { stop() } }), { isFailure: () => false }`,
		"in a method then":           `() => ({ then() { stop() } })`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, newModule(t))
				require.NoError(t, h.rt.Set("interrupt", func() { h.rt.Interrupt("stop") }))
				h.run(t, `const stop = () => { interrupt(); for (;;) {} };
					new Policy({ name: 'p', guards: [{ retry: { maxAttempts: 3 } }] }).executeAsync(`+call+`);`)
				var err error
				for ; h.pending > 0; h.pending-- {
					if e := (<-h.tasks)(); e != nil {
						err = e
					}
				}
				var interrupted *sobek.InterruptedError
				assert.ErrorAs(t, err, &interrupted)
				assert.Equal(t, 1.0, h.count("resilience_attempts"))
			})
		})
	}
}

func TestFunctionOfAnAttemptThatWasGivenUpIsNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, newModule(t))
		h.run(t, `var calls = 0; var p = new Policy({ name: 'l', guards: [{ timeout: 50 }] }).executeAsync(async () => { calls++ });`+watch)
		time.Sleep(time.Second) // the VU does something else
		h.loop(t)
		assert.Equal(t, []any{[]any{"resolved", false}}, h.run(t, `seen`))
		assert.EqualValues(t, 0, h.run(t, `calls`))
	})
}
