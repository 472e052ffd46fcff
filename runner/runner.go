// Package runner runs k6 scripts: the part of k6 that HTTP scenarios use, with
// k6's options, metrics, thresholds and summary.
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/retrylab/retrylab/jsmodule"
	"github.com/retrylab/retrylab/runner/executor"
	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/summary"
)

// Config is what to run, and where its output goes.
type Config struct {
	// Script is the script's path: relative to the working directory or, where
	// FS is set, to its root. The path - is a script that is read from Stdin.
	Script string
	// Stdin is where the script - comes from; nil means that - is a file's name.
	Stdin io.Reader
	// FS is where the script and what it imports and opens are read from; nil
	// means the files of the operating system.
	FS fs.FS
	// Env are entries of the script's __ENV; they win over those of Environ.
	Env map[string]string
	// Environ are KEY=value lines, as os.Environ has them: options (K6_…) and
	// entries of __ENV. Nil means none.
	Environ []string
	// Overrides are options that win over the script's and the environment's:
	// those of the command line.
	Overrides Options
	// Modules are modules written in Go, by import path, in addition to the
	// runner's own, which they may replace.
	Modules map[string]modules.Factory

	// Resilience is k6/x/resilience. Run closes it. Nil means one with the
	// built-in policies.
	Resilience *jsmodule.Module

	// Out are the outputs of all samples, as k6's --out has them: see
	// [output.Params]. Nil means none.
	Out []string
	// Seed makes Math.random the same in every run, and Poisson arrivals. Nil
	// means a random one, and leaves Math.random alone.
	Seed *uint64
	// PoissonArrivals makes the arrivals of arrival-rate executors those of a
	// Poisson process, instead of evenly spaced ones.
	PoissonArrivals bool
	// SummaryExport is the file for the summary in k6's flat shape; empty
	// means none. It is written to a temporary file first and then renamed.
	SummaryExport string
	// NewMachineReadableSummary gives the export and handleSummary k6's
	// machine-readable shape instead.
	NewMachineReadableSummary bool
	// SummarySketches is the file for what merging the shards of a divided run
	// needs, see [summary.Sketches]; empty means none.
	SummarySketches string
	// SummaryMode is how much the summary tells; empty means compact.
	SummaryMode summary.Mode
	// NoSummary is the mode disabled: it prints no summary and does not call
	// handleSummary. Files that are asked for are written all the same.
	NoSummary bool
	// NoThresholds ignores the thresholds.
	NoThresholds bool
	// NoColor leaves colours out of the summary.
	NoColor bool
	// StdoutTTY and StderrTTY say that these are terminals; scripts are told,
	// and the summary has colours only on one.
	StdoutTTY, StderrTTY bool
	// Stdout gets the summary, Stderr what handleSummary has for it; nil
	// discards.
	Stdout, Stderr io.Writer
	// Logger gets the script's console and the runner's warnings; nil means a
	// text log on Stderr.
	Logger logrus.FieldLogger

	// Progress is called every ProgressInterval (0 means 200ms), at each change
	// of phase and at the end, from one goroutine at a time. It must not block.
	Progress         func(Status)
	ProgressInterval time.Duration

	// Hard, if not nil, ends everything at once when it ends: teardown too.
	// When only the context of Run ends, iterations are interrupted but
	// teardown and summary still happen.
	Hard context.Context
}

// Phase is where a run is.
type Phase uint8

// The phases of a run, in order.
const (
	Starting Phase = iota // the virtual users are made
	Setup
	Running
	Teardown
	Finished
)

// String is the phase's name.
func (p Phase) String() string {
	return [...]string{"starting", "setup", "running", "teardown", "finished"}[min(int(p), 4)]
}

// Status is a run in progress.
type Status struct {
	Phase Phase
	// Elapsed is the time since iterations began; Total the longest they are
	// started for, without the graceful stop.
	Elapsed, Total time.Duration
	// Ready are the virtual users made so far, Active those that run
	// iterations, VUs all of them.
	Ready, Active, VUs int
	// Iterations ran to their end, Threw of them to an error; Interrupted did
	// not. TotalIterations is 0 if time decides how many there are.
	Iterations, Threw, Interrupted, TotalIterations int64
	// Scenarios are its parts, by name.
	Scenarios []ScenarioStatus
}

// ScenarioStatus is a scenario in progress.
type ScenarioStatus struct {
	Name string
	// Executor describes what decides when iterations start.
	Executor string
	// Progress is how much of it is done, from 0 to 1.
	Progress float64
	// Active are its virtual users that run iterations.
	Active     int
	Iterations int64
}

// Result is what a run amounts to. Run returns it with some errors too.
type Result struct {
	// Summary are the metrics, checks and thresholds.
	Summary *summary.Data
	// Options are those that were in force.
	Options Options
	// Iterations ran to their end, Threw of them to an error; Interrupted did
	// not.
	Iterations, Threw, Interrupted int64
	// Lateness is how late the iterations of arrival-rate executors started, by
	// scenario.
	Lateness map[string]executor.Lateness
	// Seed is the run's: of its Poisson arrivals, and of Math.random where one
	// was asked for.
	Seed uint64
	// FailedThresholds are the metrics whose thresholds failed.
	FailedThresholds []string
	// UnseenThresholds are the metrics whose thresholds saw no sample.
	UnseenThresholds []string
	// Duration is the time from before setup to after teardown.
	Duration time.Duration
}

// Run runs a script to its end. When ctx ends, iterations are interrupted and
// teardown and summary still happen. A failure has a [Kind] (see [KindOf]); the
// result is nil unless the run got as far as having one.
//
// Several runs may happen at the same time in one process.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if cfg.Stdout == nil {
		cfg.Stdout = io.Discard
	}
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	if cfg.Logger == nil {
		log := logrus.New()
		log.SetOutput(cfg.Stderr)
		log.SetFormatter(&logrus.TextFormatter{DisableTimestamp: true, DisableColors: cfg.NoColor || !cfg.StderrTTY})
		cfg.Logger = log
	}
	if cfg.ProgressInterval <= 0 {
		cfg.ProgressInterval = 200 * time.Millisecond
	}
	hard := cfg.Hard
	if hard == nil {
		hard = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(hard, func() { cancel(context.Cause(hard)) })()

	builtin, closeModules := builtinModules(cfg.Resilience)
	maps.Copy(builtin, cfg.Modules)
	r := &run{cfg: cfg, ctx: ctx, hard: hard, log: cfg.Logger, factories: builtin}
	res, err := r.all()
	return res, errors.Join(err, closeModules())
}

// env is the script's __ENV.
func (c *Config) env() map[string]string {
	env := make(map[string]string, len(c.Environ)+len(c.Env))
	for _, line := range c.Environ {
		if k, v, ok := strings.Cut(line, "="); ok && k != "" {
			env[k] = v
		}
	}
	maps.Copy(env, c.Env)
	return env
}

// setupData is setup's result: nil if there is no setup.
type setupData = json.RawMessage
