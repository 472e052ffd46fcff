package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/retrylab/retrylab/lab"
	"github.com/retrylab/retrylab/runner"
)

// The exit codes. From 99 on they are k6's.
const (
	exitOK              = 0
	exitInternal        = 1
	exitUsage           = 2
	exitTooFew          = 3 // not enough data to judge
	exitThresholds      = 99
	exitSetupTimeout    = 100
	exitTeardownTimeout = 101
	exitInvalid         = 104
	exitInterrupted     = 105
	exitScript          = 107
	exitAborted         = 108
	exitMarkedFailed    = 110
)

// The verdicts that are errors: of compare's gates and of diff.
var (
	errGate   = errors.New("a gate failed")
	errWorse  = errors.New("worse than the base")
	errTooFew = errors.New("not enough data to judge")
)

// invalidError is a fault of what the user gave.
type invalidError struct{ error }

func (e invalidError) Unwrap() error { return e.error }

// invalid marks err, if any, as a fault of what the user gave.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return invalidError{err}
}

// exitCode is the one map from errors to exit codes.
func exitCode(err error) int {
	var run *lab.RunError
	switch runner.KindOf(err) {
	case runner.ThresholdsFailed:
		return exitThresholds
	case runner.SetupTimeout:
		return exitSetupTimeout
	case runner.TeardownTimeout:
		return exitTeardownTimeout
	case runner.InvalidConfig:
		return exitInvalid
	case runner.InterruptedRun:
		return exitInterrupted
	case runner.ScriptException:
		return exitScript
	case runner.AbortedByScript:
		return exitAborted
	case runner.MarkedFailed:
		return exitMarkedFailed
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errGate), errors.Is(err, errWorse):
		return exitThresholds // whatever else is wrong
	case errors.Is(err, lab.ErrInterrupted):
		return exitInterrupted
	case errors.As(err, &run) && run.ExitCode > 0:
		return run.ExitCode
	case errors.Is(err, lab.ErrResultsTaken), errors.As(err, new(invalidError)):
		return exitInvalid
	case errors.Is(err, errTooFew):
		return exitTooFew
	}
	return exitInternal
}

// fail says what went wrong, if anything, in one line, and returns the exit
// code. The whole of a long error is logged where debug messages are.
func (s *session) fail(err error) int {
	if err != nil {
		line := oneLine(err.Error())
		if line != strings.TrimSpace(err.Error()) {
			s.log.Debug(err.Error())
		}
		fmt.Fprintf(s.Err, "retrylab: %s\n", line)
	}
	return exitCode(err)
}

// oneLine joins the lines of an error. Of a script's stack it keeps the first
// place that is in a file.
func oneLine(text string) string {
	var parts []string
	placed := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		place, isFrame := strings.CutPrefix(line, "at ")
		switch {
		case line == "":
		case !isFrame:
			parts = append(parts, line)
			placed = false
		case !placed && !strings.HasSuffix(place, "(native)"):
			parts[max(len(parts)-1, 0)] += " (at " + place + ")"
			placed = true
		}
	}
	return strings.Join(parts, "; ")
}
