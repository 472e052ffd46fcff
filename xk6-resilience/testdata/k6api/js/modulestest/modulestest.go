// Package modulestest is a VU for the tests of modules.
package modulestest

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// VU is a virtual user whose parts a test sets.
type VU struct {
	CtxField              context.Context
	InitEnvField          *common.InitEnvironment
	StateField            *lib.State
	RuntimeField          *sobek.Runtime
	RegisterCallbackField func() func(func() error)
}

// Context is CtxField.
func (v *VU) Context() context.Context { return v.CtxField }

// Events are none.
func (v *VU) Events() common.Events { return common.Events{} }

// InitEnv is InitEnvField.
func (v *VU) InitEnv() *common.InitEnvironment { return v.InitEnvField }

// State is StateField.
func (v *VU) State() *lib.State { return v.StateField }

// Runtime is RuntimeField.
func (v *VU) Runtime() *sobek.Runtime { return v.RuntimeField }

// RegisterCallback is what RegisterCallbackField returns.
func (v *VU) RegisterCallback() func(func() error) { return v.RegisterCallbackField() }

// Runtime is a VU and its event loop.
type Runtime struct {
	VU            *VU
	CancelContext func()
	loop          *loop
}

// NewRuntime is a VU in the init context. Its context ends with the test.
func NewRuntime(t testing.TB) *Runtime {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	log := logrus.New()
	log.SetOutput(io.Discard)
	l := &loop{wake: make(chan struct{}, 1)}
	return &Runtime{
		VU: &VU{
			CtxField: ctx,
			InitEnvField: &common.InitEnvironment{TestPreInitState: &lib.TestPreInitState{
				Registry: metrics.NewRegistry(), Logger: log,
			}},
			RuntimeField:          sobek.New(),
			RegisterCallbackField: l.register,
		},
		CancelContext: cancel,
		loop:          l,
	}
}

// MoveToVUContext ends the init context.
func (r *Runtime) MoveToVUContext(state *lib.State) {
	r.VU.InitEnvField = nil
	r.VU.StateField = state
}

// RunOnEventLoop runs a script, and then all callbacks that it and they
// register, up to the first error.
func (r *Runtime) RunOnEventLoop(code string) (sobek.Value, error) {
	value, err := r.VU.RuntimeField.RunString(code)
	if err != nil {
		return nil, err
	}
	return value, r.loop.run()
}

// loop runs functions one after another on the goroutine that calls run.
type loop struct {
	mu      sync.Mutex
	queue   []func() error
	pending int
	wake    chan struct{}
}

func (l *loop) register() func(func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending++
	used := false
	return func(task func() error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if used {
			panic("a callback was used twice")
		}
		used = true
		l.pending--
		l.queue = append(l.queue, task)
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

func (l *loop) run() error {
	for {
		l.mu.Lock()
		queue, pending := l.queue, l.pending
		l.queue = nil
		l.mu.Unlock()
		if len(queue) == 0 && pending == 0 {
			return nil
		}
		for _, task := range queue {
			if err := task(); err != nil {
				return err
			}
		}
		if len(queue) == 0 {
			<-l.wake
		}
	}
}
