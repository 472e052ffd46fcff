package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/retrylab/retrylab/compare"
	"github.com/retrylab/retrylab/compare/render"
)

type compareCmd struct {
	Paths  []string `arg:"" help:"Results folders, summary files, or globs of them."`
	Format string   `short:"f" default:"table" enum:"table,markdown,csv,json,html" help:"How to print: ${enum}. Default: ${default}."`
	Output string   `short:"o" placeholder:"FILE" help:"Write there instead of to stdout."`
}

// Help is the long help.
func (compareCmd) Help() string {
	return `Examples:
  retrylab compare results/reference
  retrylab compare results/reference --format markdown
  retrylab compare 'results/before/*random-failures*' -f html -o before.html

A file that cannot be read is a warning, the others are still reported; the exit code is 104 then.`
}

func (c compareCmd) Run(s *session) error {
	runs, warnings, err := compare.Read(c.Paths...)
	s.warn(warnings)
	if err != nil {
		return invalid(err)
	}
	report := compare.Build(runs, warnings...)
	if err := c.write(s, report); err != nil {
		return err
	}
	if len(warnings) > 0 {
		return invalid(fmt.Errorf("the report is made, with warnings: %d", len(warnings)))
	}
	return nil
}

func (c compareCmd) write(s *session, report compare.Report) (err error) {
	out := s.Out
	if c.Output != "" {
		f, failed := os.Create(c.Output)
		if failed != nil {
			return invalid(failed)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	renderers := map[string]func(io.Writer, compare.Report) error{
		"markdown": render.Markdown, "csv": render.CSV, "json": render.JSON, "html": render.HTML,
		"table": func(w io.Writer, r compare.Report) error { return render.Table(w, r, s.tableOptions()) },
	}
	return renderers[c.Format](out, report)
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
