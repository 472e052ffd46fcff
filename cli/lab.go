package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/retrylab/retrylab/compare"
	"github.com/retrylab/retrylab/compare/render"
	"github.com/retrylab/retrylab/jsmodule"
	"github.com/retrylab/retrylab/lab"
	"github.com/retrylab/retrylab/scripts"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

type labCmd struct {
	Plan     string         `arg:"" optional:"" default:"matrix" help:"Which plan. Default: ${default}."`
	Mode     string         `default:"quick" help:"quick (40 VUs x 3 s), smoke (5 x 5 s) or editorial (40 x 60 s, 3 repetitions). Default: ${default}."`
	Vus      *int           `help:"Virtual users of each run, instead of the mode's."`
	Duration *time.Duration `help:"Length of each run, instead of the mode's."`
	Reps     *int           `help:"Repetitions, instead of the mode's."`
	Only     []string       `sep:"none" placeholder:"PATTERN" help:"Only the runs with this number or name, such as 07 or '*-random-failures'."`
	Out      string         `placeholder:"FOLDER" help:"Results folder, which must hold no other lab. Default: a new one under results/."`
	Seed     uint64         `default:"1" help:"Of the servers' fates in the first repetition; each further one has the next. Default: ${default}."`
	K6       string         `name:"k6" placeholder:"PATH" help:"A k6 build with the extension, to be used instead of the built-in runner."`
	List     bool           `help:"List the plans and their runs, and end."`
}

// Help is the long help.
func (labCmd) Help() string {
	return `Examples:
  retrylab lab                                    the 17 published runs, quick
  retrylab lab --mode editorial --out results/before
  retrylab lab --only '*-random-failures' --duration 20s --reps 5
  retrylab lab payments                           five orders, with the log of each retry
  retrylab lab retry-storm                        who keeps a server down that is well again
  retrylab lab --k6 ./k6

A plan may set the load itself, or how long a run takes at least, which --duration overrides.
Each run is a fresh process against a fresh server. Ctrl-C stops the run in progress; what was
measured before is kept and reported.`
}

func (c labCmd) Run(s *session) error {
	if c.List {
		return c.list(s)
	}
	config, err := c.config(s)
	if err != nil {
		return invalid(err)
	}
	p := newProgress(s, config)
	config.Progress = p.show
	ran := lab.Run(s.ctx, config)
	p.finish(ran == nil)
	reported := c.report(s, config.Folder)
	if ran != nil && errors.Is(reported, compare.ErrNoRuns) {
		reported = nil // no run has ended, and it is said why
	}
	return errors.Join(ran, reported)
}

func (c labCmd) config(s *session) (lab.Config, error) {
	plan, err := lab.BuiltinPlan(c.Plan)
	if err != nil {
		return lab.Config{}, err
	}
	if plan, err = plan.Only(c.Only); err != nil {
		return lab.Config{}, err
	}
	mode, err := lab.LookupMode(c.Mode)
	if err != nil {
		return lab.Config{}, err
	}
	switch mode = mode.Of(plan); {
	case plan.Once && (c.Vus != nil || c.Duration != nil):
		return lab.Config{}, fmt.Errorf("plan %s runs its script once: it takes neither --vus nor --duration", plan.Name)
	case plan.Rate > 0 && c.Vus != nil:
		return lab.Config{}, fmt.Errorf("plan %s begins %v requests per second, whatever becomes of those before: it takes no --vus", plan.Name, plan.Rate)
	}
	if c.Vus != nil {
		mode.VUs = *c.Vus
	}
	if c.Duration != nil {
		mode.Duration = *c.Duration
	}
	if c.Reps != nil {
		mode.Repetitions = *c.Reps
	}
	if err := mode.Validate(); err != nil {
		return lab.Config{}, err
	}
	runner := lab.Runner{Name: "retrylab", Version: version(), Path: s.prog, Args: []string{"run"}}
	if c.K6 != "" {
		if runner, err = k6Runner(s.ctx, c.K6); err != nil {
			return lab.Config{}, err
		}
	}
	out := c.Out
	if out == "" {
		out, err = lab.ClaimNew("results", plan, mode)
	} else {
		err = lab.Claim(out, plan, mode)
	}
	return lab.Config{
		Plan: plan, Mode: mode, Folder: out, Seed: c.Seed, Runner: runner, Scripts: scripts.FS, Log: s.Err, Hard: s.hard,
	}, err
}

// k6Patience is how long a k6 build may take to tell its version.
const k6Patience = 10 * time.Second

// k6Runner is a k6 build, which must be there and tell its version.
func k6Runner(ctx context.Context, path string) (lab.Runner, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return lab.Runner{}, fmt.Errorf("k6: %w", err)
	}
	if found, err = filepath.Abs(found); err != nil {
		return lab.Runner{}, fmt.Errorf("k6: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, k6Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, found, "version")
	cmd.WaitDelay = time.Second
	told, err := cmd.Output()
	if err != nil {
		return lab.Runner{}, fmt.Errorf("k6: %s version: %w", path, err)
	}
	first, extensions, _ := strings.Cut(string(told), "\n")
	_, version, _ := strings.Cut(strings.TrimSpace(first), " ") // k6 says the name of its file first
	if !k6Version.MatchString(version) {
		return lab.Runner{}, fmt.Errorf("k6: %s is no k6: its version is %q", path, first)
	}
	if !strings.Contains(extensions, jsmodule.ImportPath+" ") {
		return lab.Runner{}, fmt.Errorf("k6: %s is built without %s: see README", path, jsmodule.ImportPath)
	}
	return lab.Runner{Name: "k6", Version: version, Path: found, Args: []string{"run", "--no-usage-report"}}, nil
}

// k6Version is how k6 tells its version: v2.2.0, or v(devel), and more.
var k6Version = regexp.MustCompile(`^v[\d(]`)

// report compares what the lab has measured, prints it and writes it down.
func (c labCmd) report(s *session, folder string) error {
	runs, warnings, err := compare.Read(folder)
	s.warn(warnings)
	if err != nil {
		return err
	}
	report := compare.Build(runs, warnings...)
	if err := render.WriteFiles(folder, report); err != nil {
		return err
	}
	if err := render.Table(s.Out, report, s.tableOptions()); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "results: %s\n", folder)
	return nil
}

func (labCmd) list(s *session) error {
	var text strings.Builder
	for _, name := range lab.PlanNames() {
		plan, err := lab.BuiltinPlan(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s: %s\n", plan.Name, plan.Title)
		for _, r := range plan.Runs {
			fmt.Fprintf(&text, "  %02d %s\n", r.Number, r.Name())
		}
	}
	_, err := io.WriteString(s.Out, text.String())
	return err
}

// runOverhead is about what a run takes beside its load: the start of a
// process, and the end of the last requests.
const runOverhead = 500 * time.Millisecond

// progress shows how far a lab is: a bar on a terminal, plain lines elsewhere.
type progress struct {
	s       *session
	config  lab.Config
	started bool
	bars    *mpb.Progress
	bar     *mpb.Bar
	run     atomic.Value // string: the run in progress; the bar is drawn on another goroutine
	total   int
}

func newProgress(s *session, c lab.Config) *progress {
	p := &progress{s: s, config: c, total: len(c.Plan.Runs) * c.Mode.Repetitions}
	p.run.Store("")
	return p
}

// start says what is to come and draws the bar. That happens once the first
// run starts, so that an error before it has the terminal for itself.
func (p *progress) start() {
	if p.started {
		return
	}
	p.started = true
	mode := p.config.Mode
	if p.config.Plan.Once { // what it logs is what there is to see
		fmt.Fprintf(p.s.Err, "lab %s: %s, into %s\n", p.config.Plan.Name, p.config.Plan.Title, p.config.Folder)
		return
	}
	fmt.Fprintf(p.s.Err, "lab %s: %s of %s, about %v, into %s\n", p.config.Plan.Name, plural(p.total, "run"), mode.Load(),
		(time.Duration(p.total) * (mode.Duration + runOverhead)).Round(time.Second), p.config.Folder)
	if !isTerminal(p.s.Err) {
		return
	}
	p.bars = mpb.New(mpb.WithOutput(p.s.Err), mpb.WithWidth(40))
	p.bar = p.bars.AddBar(int64(p.total),
		mpb.PrependDecorators(decor.CountersNoUnit("%d/%d ")),
		mpb.AppendDecorators(
			decor.Elapsed(decor.ET_STYLE_MMSS, decor.WCSyncSpace),
			decor.Any(func(decor.Statistics) string { return fmt.Sprint("  ", p.run.Load()) })))
}

func (p *progress) show(step lab.Progress) {
	p.start()
	name := step.Name
	if step.Repetition > 1 {
		name = fmt.Sprintf("%s, repetition %d", name, step.Repetition)
	}
	if p.bar != nil {
		p.run.Store(name)
		p.bar.SetCurrent(int64(step.Done))
		return
	}
	if !step.Ended {
		return
	}
	state := "done"
	if step.Err != nil {
		state = "failed"
	}
	fmt.Fprintf(p.s.Err, "%2d/%d %s %s in %v\n", step.Done, step.Total, name, state, step.Took.Round(100*time.Millisecond))
}

func (p *progress) finish(complete bool) {
	if p.bar == nil {
		return
	}
	if !complete {
		p.bar.Abort(false)
	}
	p.bars.Wait()
}

// plural is "1 run" or "3 runs".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
