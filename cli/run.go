package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/retrylab/retrylab/jsmodule"
	"github.com/retrylab/retrylab/runner"
	"github.com/retrylab/retrylab/runner/summary"
)

type runCmd struct {
	Script string `arg:"" help:"The script: a .js or .ts file, or - for one from stdin."`

	Vus        *int           `short:"u" help:"Virtual users."`
	Duration   *time.Duration `short:"d" help:"How long iterations are started for."`
	Iterations *int64         `short:"i" help:"How many iterations all virtual users share."`
	Stage      []string       `short:"s" sep:"none" placeholder:"DURATION:TARGET" help:"Ramp the virtual users to a target, as 30s:10. May be repeated."`

	ExecutionSegment         *string `placeholder:"FROM:TO" help:"Run this part of the load only, as 1/4:1/2. Parts that make up the whole do together what the whole does."`
	ExecutionSegmentSequence *string `placeholder:"BOUNDS" help:"All parts, as 0,1/4,1/2,1: the one to run must be among them."`
	MinIterationDuration     *string `placeholder:"DURATION" help:"How long an iteration takes at least."`
	Arrivals                 string  `enum:"even,poisson" default:"even" help:"How arrival-rate executors space iterations: even, as k6 does, or poisson."`
	Seed                     *uint64 `placeholder:"N" help:"Make Math.random and Poisson arrivals repeat themselves. The usual is another seed in each run."`

	Tag                   map[string]string `mapsep:"none" placeholder:"NAME=VALUE" help:"A tag of all samples."`
	SystemTags            *string           `placeholder:"LIST" help:"Which tags samples get by themselves."`
	MaxRedirects          *string           `placeholder:"N" help:"How many redirects a request follows."`
	Batch                 *string           `placeholder:"N" help:"How many requests of a batch run at once."`
	BatchPerHost          *string           `placeholder:"N" help:"The same, for each host."`
	RPS                   *string           `name:"rps" placeholder:"N" help:"The most HTTP requests a second."`
	UserAgent             *string           `placeholder:"TEXT" help:"User-Agent of HTTP requests."`
	HTTPDebug             *string           `name:"http-debug" placeholder:"MODE" help:"Log HTTP requests and answers: headers, or full with bodies."`
	BlacklistIP           *string           `name:"blacklist-ip" placeholder:"RANGES" help:"IP ranges that are not to be called."`
	BlockHostnames        *string           `placeholder:"PATTERNS" help:"Hosts that are not to be called."`
	InsecureSkipTLSVerify *bool             `name:"insecure-skip-tls-verify" help:"Trust any certificate."`
	NoConnectionReuse     *bool             `help:"Close connections after each request."`
	NoVUConnectionReuse   *bool             `name:"no-vu-connection-reuse" help:"Close connections after each iteration."`
	DiscardResponseBodies *bool             `help:"Read bodies and keep nothing of them."`
	Throw                 *bool             `short:"w" help:"Failed HTTP requests throw."`

	Policies          string            `placeholder:"FILE" help:"Policies of your own, to be found by their names beside the built-in ones."`
	Env               map[string]string `short:"e" mapsep:"none" placeholder:"NAME=VALUE" help:"An entry of the script's __ENV."`
	Out               []string          `short:"o" sep:"none" placeholder:"KIND=FILE" help:"Write every sample: json=FILE or csv=FILE; - is stdout, a name that ends in .gz is compressed. May be repeated."`
	SummaryExport     string            `placeholder:"FILE" help:"Write the summary there, as JSON in the shape of k6's."`
	SummarySketches   string            `placeholder:"FILE" help:"Write there what merging the shards of a run needs."`
	SummaryMode       string            `placeholder:"MODE" help:"How much the summary tells: compact (the usual), full, legacy, disabled."`
	SummaryTrendStats []string          `placeholder:"STAT" help:"Figures of each trend: avg, min, med, max, count, p(N)."`
	SummaryTimeUnit   *string           `placeholder:"UNIT" help:"Unit of times in the summary: s, ms, us. The usual is one that fits."`
	NoSummary         bool              `help:"Print no summary: the mode disabled."`

	NewMachineReadableSummary bool `help:"Give --summary-export and handleSummary k6's machine-readable shape."`

	NoThresholds bool  `help:"Ignore the script's thresholds."`
	NoSetup      *bool `help:"Do not run setup."`
	NoTeardown   *bool `help:"Do not run teardown."`
	NoColor      bool  `help:"Print no colours."`
	Quiet        bool  `short:"q" help:"Show no progress."`
}

// Help is the long help.
func (runCmd) Help() string {
	return `Examples:
  retrylab run scripts/random-failures.js
  retrylab run scripts/random-failures.js --vus 10 --duration 5s -e POLICY=immediate-retry
  retrylab run my-script.js --summary-export summary.json
  retrylab run my-script.js --stage 10s:50 --stage 30s:50 -o json=samples.json.gz
  retrylab run my-script.js --execution-segment 1/4:1/2 --summary-sketches part-2.json

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
	overrides, err := c.overrides()
	if err != nil {
		return invalid(err)
	}
	config := runner.Config{
		Resilience: jsmodule.New(policies),
		Script:     c.Script, Stdin: os.Stdin, Env: c.Env, Environ: os.Environ(),
		Overrides: overrides, Seed: c.Seed, PoissonArrivals: c.Arrivals == "poisson",
		Out: c.Out, SummaryExport: c.SummaryExport, SummarySketches: c.SummarySketches,
		SummaryMode: summary.Mode(c.SummaryMode), NewMachineReadableSummary: c.NewMachineReadableSummary,
		NoSummary: c.NoSummary, NoThresholds: c.NoThresholds,
		NoColor:   c.NoColor || noColor(),
		StdoutTTY: isTerminal(s.Out), StderrTTY: isTerminal(s.Err),
		Stdout: s.Out, Stderr: s.Err, Logger: s.log, Hard: s.hard,
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

// overrides are the options that flags set. Those of text are read as from the
// environment.
func (c *runCmd) overrides() (runner.Options, error) {
	texts := make(map[string]string)
	for key, text := range map[string]*string{
		"executionSegment": c.ExecutionSegment, "executionSegmentSequence": c.ExecutionSegmentSequence,
		"minIterationDuration": c.MinIterationDuration, "systemTags": c.SystemTags, "maxRedirects": c.MaxRedirects,
		"batch": c.Batch, "batchPerHost": c.BatchPerHost, "rps": c.RPS, "userAgent": c.UserAgent, "httpDebug": c.HTTPDebug,
		"blacklistIPs": c.BlacklistIP, "blockHostnames": c.BlockHostnames, "summaryTimeUnit": c.SummaryTimeUnit,
	} {
		if text != nil {
			texts[key] = *text
		}
	}
	for key, flag := range map[string]*bool{
		"insecureSkipTLSVerify": c.InsecureSkipTLSVerify, "noConnectionReuse": c.NoConnectionReuse,
		"noVUConnectionReuse": c.NoVUConnectionReuse, "discardResponseBodies": c.DiscardResponseBodies, "throw": c.Throw,
		"noSetup": c.NoSetup, "noTeardown": c.NoTeardown,
	} {
		if flag != nil {
			texts[key] = strconv.FormatBool(*flag)
		}
	}
	if len(c.Stage) > 0 {
		texts["stages"] = strings.Join(c.Stage, ",")
	}
	o, err := runner.TextOptions(texts, flagName)
	o.VUs, o.Duration, o.Iterations, o.SummaryTrendStats = c.Vus, c.Duration, c.Iterations, c.SummaryTrendStats
	if len(c.Tag) > 0 {
		o.Tags = c.Tag
	}
	return o, err
}

// flagName is the flag of an option, for messages.
func flagName(key string) string {
	switch key {
	case "stages":
		return "--stage"
	case "blacklistIPs":
		return "--blacklist-ip"
	}
	var b strings.Builder
	for _, r := range key {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return "--" + b.String()
}

// environment reads what the environment says of this command, unless a flag
// says otherwise. An empty variable says nothing.
func (c *runCmd) environment() error {
	if c.SummaryExport == "" {
		c.SummaryExport = os.Getenv("K6_SUMMARY_EXPORT")
	}
	if c.SummaryMode == "" {
		c.SummaryMode = os.Getenv("K6_SUMMARY_MODE")
	}
	if out := os.Getenv("K6_OUT"); len(c.Out) == 0 && out != "" {
		c.Out = strings.Split(out, ",")
	}
	for name, flag := range map[string]*bool{
		"K6_NO_SUMMARY": &c.NoSummary, "K6_NO_THRESHOLDS": &c.NoThresholds, "K6_NO_COLOR": &c.NoColor,
		"K6_NEW_MACHINE_READABLE_SUMMARY": &c.NewMachineReadableSummary,
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
