package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrylab/retrylab/jsmodule"
	"github.com/retrylab/retrylab/runner"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

type runCmd struct {
	Script string `arg:"" help:"The script: a .js or .ts file."`

	Vus        *int           `short:"u" help:"Virtual users."`
	Duration   *time.Duration `short:"d" help:"How long iterations are started for."`
	Iterations *int64         `short:"i" help:"How many iterations all virtual users share."`

	Policies          string            `placeholder:"FILE" help:"Policies of your own, to be found by their names beside the built-in ones."`
	Env               map[string]string `short:"e" mapsep:"none" placeholder:"NAME=VALUE" help:"An entry of the script's __ENV."`
	SummaryExport     string            `placeholder:"FILE" help:"Write the summary there, as JSON in the shape of k6's."`
	SummaryTrendStats []string          `placeholder:"STAT" help:"Figures of each trend: avg, min, med, max, count, p(N)."`
	NoSummary         bool              `help:"Print no summary."`
	NoThresholds      bool              `help:"Ignore the script's thresholds."`
	NoSetup           bool              `help:"Do not run setup."`
	NoTeardown        bool              `help:"Do not run teardown."`
	NoColor           bool              `help:"Print no colours."`
	Quiet             bool              `short:"q" help:"Show no progress."`
}

// Help is the long help.
func (runCmd) Help() string {
	return `Examples:
  retrylab run scripts/random-failures.js
  retrylab run scripts/random-failures.js --vus 10 --duration 5s -e POLICY=immediate-retry
  retrylab run my-script.js --summary-export summary.json

Options come from the script, then the environment (K6_VUS, K6_DURATION, …), then these flags; the last
wins. Ctrl-C ends the iterations, and teardown and summary still happen; a second one ends at once.`
}

func (c runCmd) Run(s *session) error {
	if err := c.environment(); err != nil {
		return invalid(err)
	}
	policies, err := policies(c.Policies)
	if err != nil {
		return invalid(err)
	}
	config := runner.Config{
		Resilience: jsmodule.New(policies),
		Script:     c.Script, Env: c.Env, Environ: os.Environ(),
		Overrides: runner.Options{
			VUs: c.Vus, Duration: c.Duration, Iterations: c.Iterations, SummaryTrendStats: c.SummaryTrendStats,
		},
		SummaryExport: c.SummaryExport, NoSummary: c.NoSummary, NoThresholds: c.NoThresholds,
		NoColor:   c.NoColor || noColor(),
		StdoutTTY: isTerminal(s.Out), StderrTTY: isTerminal(s.Err),
		Stdout: s.Out, Stderr: s.Err, Logger: s.log, Hard: s.hard,
	}
	if c.NoSetup {
		config.Overrides.NoSetup = &c.NoSetup
	}
	if c.NoTeardown {
		config.Overrides.NoTeardown = &c.NoTeardown
	}
	p := &runProgress{s: s}
	if !c.Quiet {
		s.log.SetOutput(p) // so that the bar and the log do not overwrite each other
		config.Progress, config.ProgressInterval = p.show, p.interval()
	}
	_, err = runner.Run(s.ctx, config)
	p.finish()
	return err
}

// environment reads what the environment says of this command, unless a flag
// says otherwise. An empty variable says nothing.
func (c *runCmd) environment() error {
	if c.SummaryExport == "" {
		c.SummaryExport = os.Getenv("K6_SUMMARY_EXPORT")
	}
	for name, flag := range map[string]*bool{
		"K6_NO_SUMMARY": &c.NoSummary, "K6_NO_THRESHOLDS": &c.NoThresholds, "K6_NO_COLOR": &c.NoColor,
	} {
		text := os.Getenv(name)
		if *flag || text == "" {
			continue
		}
		value, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%s: %q is neither true nor false", name, text)
		}
		*flag = value
	}
	if _, ok := c.Env[""]; ok {
		return errors.New("env: a name is missing before =")
	}
	return nil
}

// runProgress shows how far a run is: a bar on a terminal, a line every ten
// seconds elsewhere.
type runProgress struct {
	s      *session
	status atomic.Value // string; the bar is drawn on another goroutine

	mu   sync.Mutex
	bars *mpb.Progress // nil: no bar is drawn now
	bar  *mpb.Bar
}

// Write writes to stderr, above the bar where there is one.
func (p *runProgress) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars != nil {
		return p.bars.Write(data)
	}
	return p.s.Err.Write(data)
}

const plainProgress = 10 * time.Second

func (p *runProgress) interval() time.Duration {
	if isTerminal(p.s.Err) {
		return 0 // the runner's own
	}
	return plainProgress
}

func (p *runProgress) show(status runner.Status) {
	if status.Phase != runner.Running {
		p.finish() // before teardown and the summary write anything
		return
	}
	line := fmt.Sprintf("%s/%s, %d of %d VUs, %d iterations",
		status.Elapsed.Round(100*time.Millisecond), status.Total, status.Active, status.VUs, status.Iterations)
	if !isTerminal(p.s.Err) {
		if status.Elapsed >= plainProgress/2 { // the first one tells nothing
			fmt.Fprintf(p.s.Err, "running %s\n", line)
		}
		return
	}
	p.status.Store(line)
	const steps = 1000
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars == nil {
		p.bars = mpb.New(mpb.WithOutput(p.s.Err), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(steps, mpb.BarRemoveOnComplete(),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return fmt.Sprint(" ", p.status.Load()) })))
	}
	done := int64(0)
	switch {
	case status.TotalIterations > 0:
		done = steps * status.Iterations / status.TotalIterations
	case status.Total > 0:
		done = steps * int64(status.Elapsed) / int64(status.Total)
	}
	p.bar.SetCurrent(min(done, steps-1)) // complete only once the run is over
}

// finish takes the bar away.
func (p *runProgress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
	p.bars, p.bar = nil, nil
}
