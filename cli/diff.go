package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/retrylab/retrylab/compare"
	"github.com/retrylab/retrylab/compare/render"
)

type diffCmd struct {
	Base   string   `arg:"" help:"What it was: a results folder, a file, or a quoted glob of them. All runs of a name are its repetitions."`
	Head   string   `arg:"" help:"What it is now."`
	Format string   `short:"f" default:"table" enum:"table,markdown,csv,json,junit,html,github" help:"How to print: ${enum}. Default: ${default}."`
	Output string   `short:"o" placeholder:"FILE" help:"Write there instead of to stdout."`
	Floor  []string `sep:"none" placeholder:"METRIC=FLOOR" help:"Differences up to this do not count: 'amplification=2%' of the base, or 'success_rate=0.005' in its unit. Repeatable."`
	Metric []string `placeholder:"METRIC" help:"Judge these figures instead of the default ones. Repeatable."`
	Filter []string `sep:"none" placeholder:"FILTER" help:"Only these rows, as in compare. Repeatable: any of them."`
	Alpha  float64  `default:"0.05" help:"Level of significance. Default: ${default}."`
	readFlags
}

// Help is the long help.
func (diffCmd) Help() string {
	return `Examples:
  retrylab diff results/before results/after
  retrylab diff 'results/base-*' 'results/head-*' --format markdown -o comment.md
  retrylab diff results/before results/after --floor 'amplification=5%' --filter 'scenario=random-failures'
  retrylab diff results/before results/after --metric amplification --metric success_rate --alpha 0.01

Verdicts: better or worse where the difference is significant (Mann-Whitney U test) and beyond the
floor, ~ where not, too few where so few repetitions could not show any: it takes 4 a side, better 6.

Judged by default, with their floors:
` + floorHelp() + `
Exit codes: 99 where a figure is worse; 3 where none is but there was not enough to judge: too few
repetitions, or a row or figure of the base that the head lacks; 104 where a file could not be read or
--filter leaves no row.`
}

// floorHelp lists what is judged, and the floors.
func floorHelp() string {
	floors, text := compare.DefaultFloors(), ""
	for _, c := range compare.DiffColumns() {
		text += fmt.Sprintf("  %-32s %s\n", c.Name, floors[c.Name])
	}
	return text
}

func (c diffCmd) Run(s *session) error {
	options, err := c.options()
	if err != nil {
		return invalid(err)
	}
	base, warnings, err := c.side(s, "base", c.Base)
	if err != nil {
		return invalid(err)
	}
	head, more, err := c.side(s, "head", c.Head)
	if err != nil {
		return invalid(err)
	}
	warnings = append(warnings, more...)
	diff := options.Build(base, head, warnings...)
	if c.Format == "github" && c.Output == "" {
		err = s.writeGitHub(func(w io.Writer) error { return render.DiffMarkdown(w, diff) },
			func(w io.Writer) error { return render.DiffAnnotations(w, diff) })
	} else {
		err = s.write(c.Output, c.renderer(s, diff))
	}
	if err != nil {
		return err
	}
	switch diff.Outcome() {
	case compare.Worse:
		err = fmt.Errorf("%w: %s", errWorse, plural(diff.Count(compare.Worse), "figure"))
	case compare.TooFew:
		err = fmt.Errorf("%w: %s", errTooFew, diff.Unjudged())
	}
	if none := unselected(diff.Unselected, len(diff.Rows)+len(diff.Gone)); none != nil {
		err = none
	}
	return errors.Join(err, ofWarnings(warnings))
}

// side reads one side.
func (c diffCmd) side(s *session, what, path string) ([]compare.Run, []compare.Warning, error) {
	runs, warnings, err := c.reader().Read(path)
	s.warn(warnings)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	return runs, warnings, nil
}

// options reads the flags. The error names all that is wrong with them.
func (c diffCmd) options() (compare.DiffOptions, error) {
	o := compare.DiffOptions{Alpha: c.Alpha, Floors: compare.Floors{}}
	var faults []error
	var err error
	if !(c.Alpha > 0 && c.Alpha < 1) {
		faults = append(faults, fmt.Errorf("alpha: %v is not between 0 and 1", c.Alpha))
	}
	for _, text := range c.Floor {
		name, floor, err := compare.ParseFloor(text)
		if err != nil {
			faults = append(faults, err)
		}
		o.Floors[name] = floor
	}
	if len(c.Metric) > 0 {
		if o.Columns, err = compare.ParseMetrics(c.Metric); err != nil {
			faults = append(faults, err)
		}
	}
	if o.Filters, err = compare.ParseFilters(c.Filter); err != nil {
		faults = append(faults, err)
	}
	return o, errors.Join(faults...)
}

func (c diffCmd) renderer(s *session, diff compare.Diff) func(io.Writer) error {
	return func(w io.Writer) error {
		switch c.Format {
		case "markdown", "github":
			return render.DiffMarkdown(w, diff)
		case "csv":
			return render.DiffCSV(w, diff)
		case "json":
			return render.DiffJSON(w, diff)
		case "junit":
			return render.DiffJUnit(w, diff)
		case "html":
			return render.DiffHTML(w, diff)
		}
		return render.DiffTable(w, diff, s.tableOptions())
	}
}
