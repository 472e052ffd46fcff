package render

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/retrylab/retrylab/compare"
)

// DiffTable writes one table a figure, with one line a row: the median of the base
// and of the head, each with the interval of its median, the difference if it is
// significant, the verdict and the test.
func DiffTable(w io.Writer, diff compare.Diff, opts Options) error {
	if opts.Width <= 0 {
		opts.Width = 120
	}
	t := table{opts: opts}
	t.line(t.style(bold, "Retry Lab diff") + "  " + diffTitle(diff))
	t.wrap(sides(diff), "", "", "")
	if diff.Setting != "" {
		t.wrap(printable(diff.Setting), "", "", dim)
	}
	for i, c := range diff.Columns {
		t.diffColumn(diff, i, c)
	}
	t.notes(diff.Notes, diff.Warnings)
	_, err := w.Write(t.out.Bytes())
	return err
}

func (t *table) diffColumn(diff compare.Diff, i int, c compare.Column) {
	if len(diff.Rows) == 0 {
		return
	}
	title, about := diffHeading(diff, c)
	lines := [][]string{{"", "base", "", "head", "", "change", "verdict", ""}}
	for _, row := range diff.Rows {
		j := row.Figures[i]
		lines = append(lines, []string{
			printable(row.Name), side(c, j.Base), spread(j.Base), side(c, j.Head), spread(j.Head), delta(j), verdict(j), test(j),
		})
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for k, cell := range line {
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	t.line("")
	t.line(t.style(bold, title) + "  " + t.style(dim, about))
	for n, line := range lines {
		var b strings.Builder
		for k, cell := range line {
			fill := strings.Repeat(" ", widths[k]-utf8.RuneCountInString(cell))
			switch {
			case n == 0:
				cell = t.style(dim, cell)
			case k == 6:
				cell = t.style(verdictStyle(diff.Rows[n-1].Figures[i].Verdict), cell)
			}
			switch k {
			case 1, 3, 5: // figures
				fmt.Fprintf(&b, "  %s%s", fill, cell)
			case 2, 4:
				fmt.Fprintf(&b, " %s%s", cell, fill)
			default:
				fmt.Fprintf(&b, "  %s%s", cell, fill)
			}
		}
		t.line(strings.TrimPrefix(b.String(), " "))
	}
}

func verdictStyle(v compare.Verdict) string {
	switch v {
	case compare.Worse:
		return red
	case compare.Better:
		return green
	case compare.TooFew, compare.Changed:
		return yellow
	}
	return dim
}
