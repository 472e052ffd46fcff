package render

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/retrylab/retrylab/compare"
)

//go:embed page.html diff.html parts.html page.css page.js
var pageFiles embed.FS

// HTML writes one self-contained page: the tables of the report, four plots
// (amplification by policy, success against amplification, goodput and calls in
// flight over time, rejections), the gates, the notes, and all of the report's
// columns. It asks nothing of the network, follows the reader's light or dark
// colour scheme, and can be printed. Its script only sorts and explains: without
// it all is there to be read.
func HTML(w io.Writer, report compare.Report) error {
	return writePage(w, "page.html", newPage(report))
}

// writePage executes one of the page templates.
func writePage(w io.Writer, name string, data any) error {
	page, err := template.ParseFS(pageFiles, name, "parts.html")
	if err != nil {
		return fmt.Errorf("parsing the page: %w", err)
	}
	return page.ExecuteTemplate(w, name, data)
}

// frame is what all pages have.
type frame struct {
	Title, Setting string
	Style          template.CSS
	Script         template.JS
	ScriptHash     string // the only script that the page may run
	Notes          []compare.Note
	Warnings       []compare.Warning
	Columns        []compare.Column // explained at the end
}

func newFrame(title, setting string) frame {
	style, script := embedded("page.css"), embedded("page.js")
	sum := sha256.Sum256([]byte(script))
	return frame{
		Title: title, Setting: printable(setting), Style: template.CSS(style), Script: template.JS(script),
		ScriptHash: "sha256-" + base64.StdEncoding.EncodeToString(sum[:]),
	}
}

// embedded is a file that is there since the program was built.
func embedded(name string) string {
	data, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// columnsByName are the columns of files.
type columnsByName map[string]compare.Column

// page is what the template of a report draws.
type page struct {
	frame
	Gates      []pageGate
	Tables     []pageTable
	Bars       []bars
	Scatter    scatter
	Times      []times
	Rejections rejections
	Rows       []pageRow
}

type pageGate struct {
	Gate, Sign, Word, Class, Count string
	Why                            []string
}

type pageTable struct {
	// Title is empty for the first table, Name never.
	Title, Name string
	Columns     []compare.Column
	Groups      []pageGroup
}

// SpanRest is how many columns are behind the first.
func (t pageTable) SpanRest() int { return len(t.Columns) - 1 }

type pageGroup struct {
	Title, Conditions string
	Rows              []pageRow
}

type pageRow struct {
	Cells []pageCell
	// Ranges says how a repeated row's figures range.
	Ranges string
}

type pageCell struct {
	// Text is what is read, Value what the column is sorted by.
	Text, Value string
	// Words is whether the cell holds words, and Head whether it names its row.
	Words, Head bool
	Marks       []int
}

func newPage(report compare.Report) page {
	title := "Retry Lab comparison"
	if len(report.Labs) > 0 {
		title += ": " + printable(strings.Join(report.Labs, ", "))
	}
	p := page{frame: newFrame(title, report.Setting)}
	p.Columns = slices.Insert(report.Columns(), 2, report.LabColumn()...) // behind the name
	p.Notes, p.Warnings = report.Notes, report.Warnings
	for _, g := range gateResults(report.Checks) {
		p.Gates = append(p.Gates, newPageGate(g))
	}
	for _, table := range report.Tables() {
		p.Tables = append(p.Tables, newPageTable(report, table))
	}
	for _, row := range report.Rows {
		p.Rows = append(p.Rows, newPageRow(p.Columns, row))
	}
	byName := columnsByName{}
	for _, c := range p.Columns {
		byName[c.Name] = c
	}
	p.Bars, p.Scatter = barPlots(report, byName), scatterPlot(report, byName)
	p.Times, p.Rejections = timePlots(report), rejectionsPlot(report)
	return p
}

func newPageGate(g gateResult) pageGate {
	out := pageGate{Gate: printable(g.gate), Sign: g.sign(), Word: "failed", Class: "bad", Count: g.count()}
	switch g.outcome() {
	case compare.Passed:
		out.Word, out.Class = "passed", "good"
	case compare.Undecided:
		out.Word, out.Class = "too few repetitions", "soft"
	}
	for _, c := range g.checks {
		if c.Outcome != compare.Passed {
			out.Why = append(out.Why, printable(why(c)))
		}
	}
	return out
}

func newPageTable(report compare.Report, table compare.Table) pageTable {
	out := pageTable{Title: printable(table.Title), Name: "Summary", Columns: table.Columns}
	if table.Title != "" {
		out.Name = out.Title
	}
	for _, group := range report.Groups() {
		g := pageGroup{}
		g.Title, g.Conditions = heading(group)
		for _, row := range group.Rows {
			g.Rows = append(g.Rows, newPageRow(table.Columns, row))
		}
		out.Groups = append(out.Groups, g)
	}
	return out
}

func newPageRow(columns []compare.Column, row compare.Row) pageRow {
	out := pageRow{}
	for _, c := range columns {
		one := pageCell{Text: cell(c, row), Words: c.Kind == compare.Text, Head: c.Head, Marks: row.Marks(c)}
		if s := row.Stat(c); s.Known() {
			one.Value = exact(s.Value)
		}
		out.Cells = append(out.Cells, one)
	}
	if parts := ranges(columns, row); len(parts) > 0 {
		out.Ranges = fmt.Sprintf("median of %d: %s", len(row.Runs), strings.Join(parts, " · "))
	}
	return out
}
