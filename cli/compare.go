package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/retrylab/retrylab/compare"
	"github.com/retrylab/retrylab/compare/render"
	"github.com/retrylab/retrylab/lab"
)

type compareCmd struct {
	Paths    []string `arg:"" help:"Results folders, files of any of k6's summary shapes, globs of them, each also as label=path; - is stdin."`
	Format   string   `short:"f" default:"table" enum:"table,markdown,csv,json,junit,html,github" help:"How to print: ${enum}. Default: ${default}."`
	Output   string   `short:"o" placeholder:"FILE" help:"Write there instead of to stdout."`
	Merge    bool     `help:"Write one summary of the whole run of which the files are shards, and no report."`
	Gate     []string `sep:"none" placeholder:"GATE" help:"What must hold, such as 'amplification<1.5'. Repeatable; the exit code is 99 where one fails."`
	MinReps  int      `name:"min-reps" default:"1" placeholder:"N" help:"Repetitions that a row needs for a gate to be decided; with fewer the exit code is 3. Default: ${default}."`
	Baseline string   `placeholder:"POLICY" help:"Show what each policy bought and cost beside this one."`
	Sort     string   `placeholder:"COLUMN" help:"Order the rows by a figure, policy or scenario; with - in front, downwards."`
	Filter   []string `sep:"none" placeholder:"FILTER" help:"Only these rows, such as 'policy=jitter' or 'success_rate<0.9'. Repeatable: any of them."`
	GroupBy  string   `name:"group-by" default:"scenario" enum:"scenario,policy,lab,none" help:"What the rows of a table have in common: ${enum}. Default: ${default}."`
	readFlags
}

// Help is the long help.
func (compareCmd) Help() string {
	return `Examples:
  retrylab compare results/reference
  retrylab compare results/reference --format markdown
  retrylab compare 'results/before/*random-failures*' -f html -o before.html
  retrylab compare before=a.json after=samples.json.gz --map total_requests=iterations --map downstream_calls=http_reqs
  retrylab compare --merge part-*.json -o whole.json
  retrylab compare results/reference --baseline no-retry-standard-timeout
  retrylab compare results/reference --gate 'amplification<1.5' --gate 'success_rate>=95%'
  retrylab compare results/reference --filter 'scenario=random-failures' --sort=-amplification -f junit -o gates.xml

` + queryHelp + `

A gate that saw no data has failed. --format github writes Markdown to the job's summary
($GITHUB_STEP_SUMMARY, or else stdout) and annotations to stdout.

Exit codes: 99 where a gate failed, 3 where one could not be decided: too few repetitions, or a figure
that some of them lack. A file that cannot be read is a warning, the others are still reported; the exit
code is 104 then, and where no row is left by --filter.`
}

// queryHelp is the grammar of gates and filters.
const queryHelp = `A gate is [WORD=PATTERN ...] METRIC[/METRIC] OPERATOR NUMBER[%], and must hold for every row it selects:
  amplification<1.5
  success_rate>=95%
  downstream_calls/requests<1.6                       any two metrics, divided run by run
  policy=jitter scenario=*-failures amplification<1.5
  http_req_duration:p(95)<300                         a statistic of a metric of k6's own
The words are policy, scenario, variant, run and lab; * stands for any text; a pattern with blanks is
in double quotes. The operators are <, <=, >, >=, == and !=. Metrics are the columns of --format csv,
and for short amplification, requests, goodput, calls, received, retries, timeouts, max_inflight, p95
and p99 (of successful requests). A filter is the same, with the comparison or the words left out.`

func (c compareCmd) Run(s *session) error {
	if c.Merge {
		return s.merge(c.readFlags, c.Output, c.Paths)
	}
	options, err := c.options()
	if err != nil {
		return invalid(err)
	}
	runs, warnings, err := c.reader().Read(c.Paths...)
	s.warn(warnings)
	if err != nil {
		return invalid(err)
	}
	s.tellRead(runs)
	if c.Baseline != "" && !compare.HasPolicy(runs, c.Baseline) {
		return invalid(fmt.Errorf("baseline: no run has the policy %q", c.Baseline))
	}
	report := options.Build(runs, warnings...)
	if c.Format == "github" && c.Output == "" {
		err = s.github(report)
	} else {
		err = s.write(c.Output, c.renderer(s, report))
	}
	if err != nil {
		return err
	}
	return errors.Join(judge(report), unselected(report.Unselected, len(report.Rows)), ofWarnings(warnings))
}

// unselected is the error of filters that leave no row.
func unselected(what string, rows int) error {
	if what == "" || rows > 0 {
		return nil
	}
	return invalid(errors.New(what))
}

// options reads the flags. The error names all that is wrong with them.
func (c compareCmd) options() (compare.Options, error) {
	o := compare.Options{LeastRepetitions: c.MinReps, Baseline: c.Baseline, GroupBy: c.GroupBy, Plan: planNames}
	var faults []error
	var err error
	if o.Gates, err = compare.ParseGates(c.Gate); err != nil {
		faults = append(faults, err)
	}
	if o.Filters, err = compare.ParseFilters(c.Filter); err != nil {
		faults = append(faults, err)
	}
	if c.Sort != "" {
		if o.Sort, err = compare.ParseOrder(c.Sort); err != nil {
			faults = append(faults, err)
		}
	}
	if c.MinReps < 1 || c.MinReps > 1000 {
		faults = append(faults, fmt.Errorf("min-reps: %d is not in 1 … 1000", c.MinReps))
	}
	return o, errors.Join(faults...)
}

// planNames are the names of a built-in plan's runs by their numbers, or nil.
func planNames(name string) map[int]string {
	plan, err := lab.BuiltinPlan(name)
	if err != nil {
		return nil
	}
	names := map[int]string{}
	for _, r := range plan.Runs {
		names[r.Number] = r.Name()
	}
	return names
}

func (c compareCmd) renderer(s *session, report compare.Report) func(io.Writer) error {
	return func(w io.Writer) error {
		switch c.Format {
		case "markdown", "github":
			return render.Markdown(w, report)
		case "csv":
			return render.CSV(w, report)
		case "json":
			return render.JSON(w, report)
		case "junit":
			return render.JUnit(w, report)
		case "html":
			return render.HTML(w, report)
		}
		return render.Table(w, report, s.tableOptions())
	}
}

// github writes the report where a job of GitHub Actions has it shown.
func (s *session) github(report compare.Report) error {
	return s.writeGitHub(func(w io.Writer) error { return render.Markdown(w, report) },
		func(w io.Writer) error { return render.Annotations(w, report) })
}

// writeGitHub appends Markdown to the job's summary, or writes it to stdout where
// there is none, and writes annotations to stdout.
func (s *session) writeGitHub(markdown, annotations func(io.Writer) error) (err error) {
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" {
		f, failed := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if failed != nil {
			return invalid(fmt.Errorf("GITHUB_STEP_SUMMARY: %w", failed))
		}
		err = errors.Join(markdown(f), f.Close())
	} else {
		err = markdown(s.Out)
	}
	return errors.Join(err, annotations(s.Out))
}

// judge is the error of gates that failed or could not be decided.
func judge(report compare.Report) error {
	failed, undecided := 0, 0
	for _, c := range report.Checks {
		switch {
		case c.Bad():
			failed++
		case c.Outcome == compare.Undecided:
			undecided++
		}
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%w: %d of %d checks", errGate, failed, len(report.Checks))
	case undecided > 0:
		return fmt.Errorf("%w: %d of %d checks", errTooFew, undecided, len(report.Checks))
	}
	return nil
}

func ofWarnings(warnings []compare.Warning) error {
	if len(warnings) == 0 {
		return nil
	}
	return invalid(fmt.Errorf("the report is made, with warnings: %d", len(warnings)))
}

// write renders into a file, or to stdout where none is named.
func (s *session) write(path string, render func(io.Writer) error) (err error) {
	if path == "" {
		return render(s.Out)
	}
	f, err := os.Create(path)
	if err != nil {
		return invalid(err)
	}
	return errors.Join(render(f), f.Close())
}

// tableOptions are how a table looks on this session's stdout.
func (s *session) tableOptions() render.Options {
	return render.Options{Colour: isTerminal(s.Out) && !noColor()}
}

func (s *session) warn(warnings []compare.Warning) {
	for _, w := range warnings {
		fmt.Fprintf(s.Err, "retrylab: warning: %v\n", w)
	}
}
