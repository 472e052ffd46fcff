package render_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
	"github.com/retrylab/retrylab/compare/render"
)

var update = flag.Bool("update", false, "write the golden files")

type renderer = func(io.Writer, compare.Report) error

func renderers() map[string]renderer {
	return map[string]renderer{
		"comparison.txt":  func(w io.Writer, r compare.Report) error { return render.Table(w, r, render.Options{}) },
		"comparison.csv":  render.CSV,
		"comparison.md":   render.Markdown,
		"comparison.json": render.JSON,
		"comparison.html": render.HTML,
	}
}

func lab(t *testing.T) compare.Report {
	t.Helper()
	runs, warnings, err := compare.Read("../testdata/lab")
	require.NoError(t, err)
	return compare.Build(runs, warnings...)
}

func text(t *testing.T, f renderer, report compare.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, f(&b, report))
	return b.String()
}

func TestGolden(t *testing.T) {
	report := lab(t)
	for name, f := range renderers() {
		t.Run(name, func(t *testing.T) { golden(t, name, text(t, f, report)) })
	}
}

// A report with gates, a baseline, repetitions and an account by the second.
func TestGoldenJudged(t *testing.T) {
	report := judged(t)
	all := renderers()
	all["comparison.junit.xml"], all["comparison.github"] = render.JUnit, render.Annotations
	for name, f := range all {
		name = strings.Replace(name, "comparison", "judged", 1)
		t.Run(name, func(t *testing.T) { golden(t, name, text(t, f, report)) })
	}
}

func TestGoldenDiff(t *testing.T) {
	diff := changed(t)
	for name, f := range map[string]func(io.Writer, compare.Diff) error{
		"diff.txt": func(w io.Writer, d compare.Diff) error { return render.DiffTable(w, d, render.Options{}) },
		"diff.csv": render.DiffCSV, "diff.md": render.DiffMarkdown, "diff.json": render.DiffJSON, "diff.html": render.DiffHTML,
		"diff.junit.xml": render.DiffJUnit, "diff.github": render.DiffAnnotations,
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, f(&b, diff))
			golden(t, name, b.String())
			require.ErrorIs(t, f(failing{}, diff), io.ErrClosedPipe)
			require.NoError(t, f(io.Discard, compare.Diff{}))
		})
	}
}

// golden compares with a file, and writes it first with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s (-want +got), run with -update if that is meant:\n%s", path, diff)
	}
}

func TestTableFitsItsWidth(t *testing.T) {
	for _, width := range []int{0, 120, 200} {
		want := width
		if width == 0 {
			want = 120
		}
		got := text(t, func(w io.Writer, r compare.Report) error {
			return render.Table(w, r, render.Options{Width: width})
		}, lab(t))
		for _, line := range strings.Split(got, "\n") {
			if strings.HasPrefix(line, " ! ") {
				continue // paths are not broken
			}
			require.LessOrEqual(t, utf8.RuneCountInString(line), want, line)
		}
		require.Contains(t, got, "no-retry-standard-timeout ", "no name is cut")
	}
	narrow := text(t, func(w io.Writer, r compare.Report) error {
		return render.Table(w, r, render.Options{Width: 110})
	}, lab(t))
	require.Contains(t, narrow, "no-retry-stand…")
}

func TestColourIsAnOptionAndChangesNothingElse(t *testing.T) {
	report := lab(t)
	plain := text(t, renderers()["comparison.txt"], report)
	coloured := text(t, func(w io.Writer, r compare.Report) error {
		return render.Table(w, r, render.Options{Colour: true})
	}, report)
	require.NotContains(t, plain, "\x1b")
	require.Contains(t, coloured, "\x1b[1m")
	stripped := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(coloured, "")
	require.Equal(t, plain, strings.ReplaceAll(stripped, " \n", "\n"))
}

func TestEmptyReportRenders(t *testing.T) {
	for name, f := range renderers() {
		require.NotEmpty(t, text(t, f, compare.Report{}), name)
		require.NotEmpty(t, text(t, f, compare.Build(nil)), name)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	for name, f := range renderers() {
		require.ErrorIs(t, f(failing{}, lab(t)), io.ErrClosedPipe, name)
	}
}
