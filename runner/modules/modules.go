// Package modules loads a script and all it imports, once for a run, and
// gives each virtual user its own instances: ES modules by sobek, TypeScript
// and newer syntax through esbuild, and modules written in Go.
package modules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/metrics"
)

// VU is what a Go module knows of the virtual user it serves. Except for Push
// its methods are called on the virtual user's goroutine only.
type VU interface {
	// Runtime is the JS runtime; it is used on the VU's goroutine only.
	Runtime() *sobek.Runtime
	// Context ends when the VU must stop what it does. It is never nil.
	Context() context.Context
	// InitContext says whether the script's init code is running.
	InitContext() bool
	// ID is the VU's number from 1; 0 in init, setup and teardown.
	ID() uint64
	// Iteration counts this VU's iterations from 0; -1 before the first.
	Iteration() int64
	// Callback reserves a place on the event loop, which does not finish
	// before the returned function was called, once, from any goroutine, with
	// the task to run on the VU's goroutine.
	Callback() func(task func() error)
	// Logger writes the script's log.
	Logger() logrus.FieldLogger
	// Warn logs a warning that may come up in every iteration: repetitions of
	// the same key are counted, not printed.
	Warn(key, message string)
	// Transport makes HTTP calls; nil in the init context.
	Transport() http.RoundTripper
	// Registry is where metrics are registered.
	Registry() *metrics.Registry
	// Builtin are the runner's own metrics.
	Builtin() *metrics.Builtin
	// Tags are the tags of what is sampled now; SetTags replaces them.
	Tags() *metrics.TagSet
	SetTags(*metrics.TagSet)
	// Push emits samples, unless ctx has ended. It is safe for concurrent use.
	Push(ctx context.Context, samples ...metrics.Sample)
	// Settings are the run's options that modules look at.
	Settings() *Settings
	// Place is where the VU is in the run.
	Place() Place
	// Run is the run that the VU is part of.
	Run() Run
}

// Place is where a virtual user is in a run.
type Place struct {
	IDInTest uint64 // the VU's number among those of all segments
	// Scenario is nil outside of iterations; the numbers of the iteration mean
	// nothing then. They count from 0: the VU's in the scenario, and the
	// scenario's here and in all segments.
	Scenario                                            *executor.Scenario
	IterationInScenario, ScenarioInstance, ScenarioTest int64
}

// Run is the run as scripts may see it. It is safe for concurrent use.
type Run interface {
	// Options are those in force, as JSON.
	Options() (json.RawMessage, error)
	// Status is how far the run is. False: it has not begun.
	Status() (RunStatus, bool)
	// Abort ends the run at once; Fail lets it go on, and fails it in the end.
	Abort(reason string)
	Fail()
}

// RunStatus is how far a run is.
type RunStatus struct {
	Duration                time.Duration
	Iterations, Interrupted int64
	Active, VUs             int
}

// Aborted ends the run in which it is thrown.
type Aborted struct{ Reason string }

// Error is why the run was aborted.
func (a *Aborted) Error() string {
	if a.Reason == "" {
		return "test aborted"
	}
	return "test aborted: " + a.Reason
}

// Settings are the options of a run that modules look at.
type Settings struct {
	// UserAgent is the default header of that name.
	UserAgent string
	// Throw makes failed requests throw.
	Throw bool
	// DiscardResponseBodies reads bodies and keeps nothing of them.
	DiscardResponseBodies bool
	// MaxRedirects is how many redirects a request follows. WarnRedirects logs
	// when there are more.
	MaxRedirects  int
	WarnRedirects bool
	// Batch and BatchPerHost bound the parallel requests of a batch; a
	// BatchPerHost of 0 bounds nothing.
	Batch, BatchPerHost int
	// NoCookiesReset keeps cookies from one iteration to the next.
	NoCookiesReset bool
	// SystemTags are the tags that samples get by themselves.
	SystemTags SystemTags
	// Pacer spaces the HTTP requests of the run; nil does not.
	Pacer *Pacer
	// HTTPDebug logs HTTP requests and answers: "" not, "full" with their
	// bodies, any other text without.
	HTTPDebug string
}

// Why a connection was refused before it was made.
var (
	ErrBlockedHost = errors.New("hostname is blocked")
	ErrBlockedIP   = errors.New("ip is blacklisted")
)

// Exports are what a Go module offers to one virtual user. The values are
// anything that Runtime.ToValue takes.
type Exports struct {
	// Named are the named exports.
	Named map[string]any
	// Default is the default export; nil means an object of the named ones.
	Default any
}

// Factory makes a module's instance for a virtual user, in its init context.
type Factory func(VU) (Exports, error)

// Throw throws a JS Error. Call it only from a Go function that JS called.
func Throw(rt *sobek.Runtime, format string, args ...any) {
	panic(NewError(rt, fmt.Sprintf(format, args...)))
}

// Rethrow throws an error that a JS function returned to Go on to the JS that
// called Go. Call it only from a Go function that JS called.
func Rethrow(rt *sobek.Runtime, err error) {
	var ex *sobek.Exception
	var stop *sobek.InterruptedError
	var deep *sobek.StackOverflowError
	if errors.As(err, &ex) || errors.As(err, &stop) || errors.As(err, &deep) {
		panic(err) // sobek's own
	}
	panic(rt.NewGoError(err))
}

// NewError makes a JS Error with its stack.
func NewError(rt *sobek.Runtime, message string) sobek.Value {
	o, err := rt.New(rt.GlobalObject().Get("Error"), rt.ToValue(message))
	if err != nil {
		return rt.NewGoError(fmt.Errorf("%s", message))
	}
	return o
}

// IsNullish says whether a value is missing, undefined or null.
func IsNullish(v sobek.Value) bool {
	return v == nil || sobek.IsUndefined(v) || sobek.IsNull(v)
}
