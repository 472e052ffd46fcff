// Package lab runs plans: each run in a fresh process against a fresh
// downstream, and its results in files.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/downstream/stats"
	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/retrylab/retrylab/service"
)

// Config says what to run and where the results go.
type Config struct {
	Plan    Plan
	Mode    Mode
	Folder  string // of the results; see Claim
	Seed    uint64 // of the first repetition's servers; each further one has the next
	Runner  Runner
	Scripts fs.FS // where the plan's scripts are
	// Log gets what the runs of a plan that runs once write to stderr. It may
	// be a terminal, which they see then. Nil: nobody does.
	Log io.Writer
	// Hard, if not nil, kills the run in progress when it ends.
	Hard context.Context
	// Progress is told of each run as it starts and as it ends. May be nil.
	Progress func(Progress)
}

// Progress is a step of a lab.
type Progress struct {
	Done, Total int    // runs that have ended, of how many
	Name        string // the run's name
	Repetition  int
	Ended       bool // false: it starts
	Took        time.Duration
	Err         error // why an ended run failed
}

// RunError is a run that its runner did not end well.
type RunError struct {
	Run      string
	ExitCode int    // the runner's; -1: it was killed, or wrote no summary
	Message  string // the last line that it wrote
}

// Error is one line.
func (e *RunError) Error() string {
	return fmt.Sprintf("run %s: the runner ended with exit code %d: %s", e.Run, e.ExitCode, e.Message)
}

// ErrInterrupted says that a lab was ended before all its runs were done. The
// files of those that were are whole.
var ErrInterrupted = errors.New("the lab was interrupted")

// errStopped is a run that was not done because the lab is being ended.
var errStopped = errors.New("stopped")

// drainTime is how long a run's server may take to end its calls.
const drainTime = 5 * time.Second

// Run measures the plan's runs one after the other, repetitions interleaved
// (all runs once, then all again) so that a drift of the machine meets all of
// them. When ctx ends, the run in progress is stopped and ErrInterrupted is
// returned. Runs that fail do not stop the others: their RunErrors are
// returned, joined, at the end.
func Run(ctx context.Context, c Config) error {
	if err := c.Mode.Validate(); err != nil {
		return fmt.Errorf("mode %s: %w", c.Mode.Name, err)
	}
	if c.Mode.Rate != c.Plan.Rate {
		return fmt.Errorf("mode %s: its rate is %v, but the plan's %v: use Mode.Of", c.Mode.Name, c.Mode.Rate, c.Plan.Rate)
	}
	scripts, err := os.MkdirTemp("", "retrylab-scripts-")
	if err != nil {
		return fmt.Errorf("scripts: %w", err)
	}
	defer os.RemoveAll(scripts)
	if err := os.CopyFS(scripts, c.Scripts); err != nil {
		return fmt.Errorf("scripts: %w", err)
	}
	l := &lab{Config: c, scripts: scripts, id: fmt.Sprintf("%s-%s-%s", c.Plan.Name, c.Mode.Name, time.Now().UTC().Format("20060102T150405.000Z"))}
	return l.all(ctx)
}

type lab struct {
	Config
	scripts string
	id      string
}

func (l *lab) all(ctx context.Context) error {
	var failed []error
	p := Progress{Total: len(l.Plan.Runs) * l.Mode.Repetitions}
	for repetition := 1; repetition <= l.Mode.Repetitions; repetition++ {
		for _, r := range l.Plan.Runs {
			p.Name, p.Repetition, p.Ended, p.Err = r.Name(), repetition, false, nil
			l.progress(p)
			begin := time.Now()
			p.Err = l.one(ctx, r, repetition)
			var failure *RunError
			switch {
			case errors.Is(p.Err, errStopped):
				return errors.Join(append(failed, fmt.Errorf("%w after %d of %d runs", ErrInterrupted, p.Done, p.Total))...)
			case p.Err != nil && !errors.As(p.Err, &failure):
				return p.Err
			}
			if p.Err != nil {
				failed = append(failed, p.Err)
			}
			p.Done++
			p.Ended, p.Took = true, time.Since(begin)
			l.progress(p)
		}
	}
	return errors.Join(failed...)
}

func (l *lab) progress(p Progress) {
	if l.Progress != nil {
		l.Progress(p)
	}
}

// one measures one run: a server of its own in this process, and its tiers, the
// script in another.
func (l *lab) one(ctx context.Context, r PlannedRun, repetition int) error {
	if ctx.Err() != nil {
		return errStopped
	}
	policy, err := catalog.Builtin().Lookup(r.Policy)
	if err != nil {
		return err
	}
	scenario, err := downstream.ParseScenario(r.Scenario, r.Params)
	if err != nil {
		return err
	}
	tiers, err := r.tiers()
	if err != nil {
		return err
	}
	seed := l.Seed + uint64(repetition-1)
	server, err := downstream.Listen("127.0.0.1:0", downstream.Config{
		Scenario: scenario, Seed: seed, Cancellation: *r.Cancellation,
	})
	if err != nil {
		return fmt.Errorf("run %s: %w", r.Name(), err)
	}
	at := &target{listener: server}
	if len(tiers) > 0 {
		if at.chain, err = service.StartChain(service.ChainConfig{Tiers: tiers, Next: server.URL()}); err != nil {
			at.close()
			return fmt.Errorf("run %s: %w", r.Name(), err)
		}
	}
	description := catalog.Describe(policy.Config)
	record := Record{
		Schema: RecordSchema, Lab: l.id, Plan: l.Plan.Name, Mode: l.Mode.Name,
		Number: r.Number, Name: r.Name(), Variant: r.Variant, Repetition: repetition, Repetitions: l.Mode.Repetitions,
		Policy: PolicyRecord{
			Name: r.Policy, MaxAttempts: description.MaxAttempts,
			AttemptTimeoutMs: float64(description.AttemptTimeout) / float64(time.Millisecond),
			Guards:           description.Guards,
			Budget:           description.Budget,
		},
		Scenario: ScenarioRecord{Name: r.Scenario, Params: scenario.Params(), Cancellation: r.Cancellation.String()},
		Script:   r.Script, Seed: seed, VUs: l.Mode.VUs, Rate: l.Mode.Rate, DurationMs: l.Mode.Duration.Milliseconds(),
		Runner:  RunnerRecord{Name: l.Runner.Name, Version: l.Runner.Version},
		Machine: Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version()},
	}
	base := filepath.Join(l.Folder, fileName(r.Number, r.Name(), repetition, l.Mode.Repetitions))
	record.StartedAt = time.Now()
	var lastLine string
	var log io.Writer
	if l.Plan.Once {
		log = l.Log
	}
	record.ExitCode, lastLine, err = l.Runner.run(ctx, l.Hard, job{
		once:    l.Plan.Once,
		log:     log,
		script:  filepath.Join(l.scripts, filepath.FromSlash(r.Script)),
		env:     r.environment(at.url(), l.Mode),
		mode:    l.Mode,
		summary: base + summarySuffix,
	})
	record.EndedAt = time.Now()
	record.Downstream, record.Tiers = at.close()
	if err != nil {
		return err
	}
	record.Interrupted = ctx.Err() != nil
	if _, missing := os.Stat(base + summarySuffix); missing != nil && record.ExitCode == 0 {
		record.ExitCode, lastLine = -1, "it wrote no summary: is it a k6 build?"
	}
	if record.ExitCode != 0 {
		record.ErrorMessage = lastLine
	}
	if err := record.write(l.Folder); err != nil {
		return err
	}
	switch {
	case record.Interrupted:
		return errStopped
	case record.ExitCode != 0:
		return &RunError{Run: r.Name(), ExitCode: record.ExitCode, Message: lastLine}
	}
	return nil
}

// environment are the entries of the script's __ENV.
func (r PlannedRun) environment(base string, m Mode) []string {
	env := []string{"POLICY=" + r.Policy, "BASE_URL=" + base}
	if m.Rate > 0 {
		env = append(env, fmt.Sprintf("RATE=%v", m.Rate), "DURATION="+m.Duration.String())
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		env = append(env, name+"="+r.Env[name])
	}
	return env
}

// target is what a run's script calls: a server, and the tiers in front of it.
type target struct {
	listener *downstream.Listener
	chain    *service.Chain // nil: no tiers
}

func (t *target) url() string {
	if t.chain != nil {
		return t.chain.URL()
	}
	return t.listener.URL()
}

// close ends a target and returns its account. Work that is still in progress
// has some time to end, so that the account adds up.
func (t *target) close() (stats.Snapshot, []service.TierStats) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var tiers []service.TierStats
	if t.chain != nil {
		_ = t.chain.Close(ctx) // as below
		tiers = t.chain.Stats().Tiers
	}
	_ = t.listener.Close(ctx) // where calls had to be cut off, the account says so
	return t.listener.Server().Stats(), tiers
}
