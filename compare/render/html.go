package render

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/retrylab/retrylab/compare"
)

//go:embed page.html
var pageSource string

// HTML writes one self-contained page: the columns of compare.Summary, two plots
// (amplification by policy, and success against amplification), the notes, and
// all of compare.Columns. It needs no network and no script, follows the
// reader's light or dark colour scheme, and can be printed.
func HTML(w io.Writer, report compare.Report) error {
	page, err := template.New("page").Parse(pageSource)
	if err != nil {
		return fmt.Errorf("parsing the page: %w", err)
	}
	return page.Execute(w, newPage(report))
}

// columnsByName are the columns of files.
type columnsByName map[string]compare.Column

// SpanRest is how many columns of the summary are behind the first.
func (p page) SpanRest() int { return len(p.Summary) - 1 }

// page is what the template draws.
type page struct {
	Title, Setting string
	Summary        []compare.Column
	Groups         []pageGroup
	Bars           []bars
	Scatter        scatter
	Notes          []compare.Note
	Warnings       []compare.Warning
	Columns        []compare.Column
	Rows           []pageRow
}

type pageGroup struct {
	Scenario, Conditions string
	Rows                 []pageRow
}

type pageRow struct {
	Cells []pageCell
	// Ranges says how a repeated row's figures range.
	Ranges string
}

type pageCell struct {
	Text string
	// Words is whether the cell holds words, and Head whether it names its row.
	Words, Head bool
	Marks       []int
}

func newPage(report compare.Report) page {
	p := page{
		Title: "Retry Lab comparison", Setting: printable(report.Setting),
		Summary: compare.Summary(), Columns: compare.Columns(),
		Notes: report.Notes, Warnings: report.Warnings,
	}
	if len(report.Labs) > 0 {
		p.Title += ": " + printable(strings.Join(report.Labs, ", "))
	}
	byName := columnsByName{}
	for _, c := range p.Columns {
		byName[c.Name] = c
	}
	for _, group := range report.Groups() {
		g := pageGroup{}
		g.Scenario, g.Conditions = heading(group)
		for _, row := range group.Rows {
			g.Rows = append(g.Rows, newPageRow(p.Summary, row, "policy"))
		}
		p.Groups = append(p.Groups, g)
	}
	for _, row := range report.Rows {
		p.Rows = append(p.Rows, newPageRow(p.Columns, row, "policy_scenario"))
	}
	p.Bars, p.Scatter = barPlots(report, byName), scatterPlot(report, byName)
	return p
}

// newPageRow fills a row whose column of the name head names it.
func newPageRow(columns []compare.Column, row compare.Row, head string) pageRow {
	out := pageRow{}
	for _, c := range columns {
		out.Cells = append(out.Cells, pageCell{
			Text: cell(c, row), Words: c.Kind == compare.Text, Head: c.Name == head, Marks: row.Marks(c),
		})
	}
	if parts := ranges(columns, row); len(parts) > 0 {
		out.Ranges = fmt.Sprintf("median of %d: %s", len(row.Runs), strings.Join(parts, " · "))
	}
	return out
}
