package runner

import (
	"errors"
	"fmt"
	"strings"
)

// Kind is why a run failed; each has an exit code of its own.
type Kind uint8

// The kinds of failure.
const (
	// ThresholdsFailed: the run ended, and a threshold had failed.
	ThresholdsFailed Kind = iota + 1
	// SetupTimeout: setup took longer than setupTimeout.
	SetupTimeout
	// TeardownTimeout: teardown took longer than teardownTimeout.
	TeardownTimeout
	// InvalidConfig: an option cannot be, or there is no script to read.
	InvalidConfig
	// InterruptedRun: the context of the run ended before the run did.
	InterruptedRun
	// ScriptException: the script does not parse, or its init code, setup or
	// teardown threw, or it exports no default function.
	ScriptException
	// AbortedByScript: the script called test.abort().
	AbortedByScript
	// MarkedFailed: the script called test.fail().
	MarkedFailed
)

// String is the kind in a few words.
func (k Kind) String() string {
	switch k {
	case ThresholdsFailed:
		return "thresholds failed"
	case SetupTimeout:
		return "setup timed out"
	case TeardownTimeout:
		return "teardown timed out"
	case InvalidConfig:
		return "invalid configuration"
	case InterruptedRun:
		return "interrupted"
	case ScriptException:
		return "script exception"
	case AbortedByScript:
		return "test aborted"
	case MarkedFailed:
		return "test marked as failed"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is a run's failure. Find it with errors.As; an error of Run that is
// none is a failure of the runner itself.
type Error struct {
	Kind Kind
	Err  error
}

// Error is the kind and the cause.
func (e *Error) Error() string {
	text := e.Err.Error()
	if strings.HasPrefix(text, e.Kind.String()) {
		return text
	}
	return e.Kind.String() + ": " + text
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf is the kind of failure in an error's chain, 0 if there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

func fail(k Kind, err error) error {
	if err == nil {
		return nil
	}
	if KindOf(err) != 0 {
		return err
	}
	return &Error{Kind: k, Err: err}
}
