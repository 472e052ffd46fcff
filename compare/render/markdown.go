package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/retrylab/retrylab/compare"
)

// Markdown writes the columns of compare.Summary as GitHub tables, one a
// scenario, and the notes and warnings, fit for the comment of a pull request.
func Markdown(w io.Writer, report compare.Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## Retry Lab comparison\n\n")
	if len(report.Labs) > 0 {
		fmt.Fprintf(&b, "%s\n\n", escapeAll(report.Labs))
	}
	if report.Setting != "" {
		fmt.Fprintf(&b, "%s\n\n", escape(report.Setting))
	}
	for _, table := range report.Tables() {
		if table.Title != "" {
			fmt.Fprintf(&b, "## %s\n\n", escape(table.Title))
		}
		for _, group := range report.Groups() {
			markdownGroup(&b, group, table.Columns)
		}
	}
	markdownGates(&b, report.Checks)
	markdownNotes(&b, report.Notes, report.Warnings)
	_, err := w.Write(b.Bytes())
	return err
}

func markdownGates(b *bytes.Buffer, checks []compare.Check) {
	if len(checks) > 0 {
		b.WriteString("## Gates\n\n")
	}
	for _, g := range gateResults(checks) {
		fmt.Fprintf(b, "- %s %s, %s\n", g.sign(), escape(g.gate), g.count())
		for _, c := range g.checks {
			if c.Outcome != compare.Passed {
				fmt.Fprintf(b, "  - %s\n", escape(why(c)))
			}
		}
	}
	if len(checks) > 0 {
		b.WriteString("\n")
	}
}

func markdownNotes(b *bytes.Buffer, notes []compare.Note, warnings []compare.Warning) {
	for _, note := range notes {
		b.WriteString("- ")
		if note.Mark > 0 {
			b.WriteString(superscript([]int{note.Mark}) + " ")
		}
		b.WriteString(escape(note.Text) + "\n")
	}
	if len(warnings) > 0 {
		b.WriteString("\n**Files left out or incomplete**\n\n")
	}
	for _, warning := range warnings {
		b.WriteString("- " + escape(warning.String()) + "\n")
	}
}

func markdownGroup(b *bytes.Buffer, group compare.Group, columns []compare.Column) {
	title, conditions := heading(group)
	fmt.Fprintf(b, "### %s\n\n", escape(title))
	if conditions != "" {
		fmt.Fprintf(b, "%s\n\n", escape(conditions))
	}
	rule := ""
	for _, c := range columns {
		b.WriteString("| " + escape(c.Title) + " ")
		if c.Kind == compare.Text {
			rule += "|:---"
		} else {
			rule += "|---:"
		}
	}
	b.WriteString("|\n" + rule + "|\n")
	repeated := ""
	for _, row := range group.Rows {
		for _, c := range columns {
			b.WriteString("| " + escape(cell(c, row)) + superscript(row.Marks(c)) + " ")
		}
		b.WriteString("|\n")
		if parts := ranges(columns, row); len(parts) > 0 {
			repeated += fmt.Sprintf("- %s, median of %d: %s\n", escape(called(row, row.PolicyLabel())), len(row.Runs), escape(strings.Join(parts, " · ")))
		}
	}
	b.WriteString("\n")
	if repeated != "" {
		b.WriteString(repeated + "\n")
	}
}

func escapeAll(words []string) string {
	escaped := make([]string, len(words))
	for i, word := range words {
		escaped[i] = escape(word)
	}
	return strings.Join(escaped, ", ")
}

// escape is the text as Markdown that shows it as it is: in one line, without
// markup, links, HTML, table cells, or people and issues mentioned.
func escape(text string) string {
	var b strings.Builder
	for _, r := range printable(text) {
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '@', '#':
			b.WriteRune(r)
			b.WriteString("<!-- -->") // the word behind it is no mention
		case '\\', '`', '*', '_', '[', ']', '|', '~', '!', '$':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\u00a0':
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	out := b.String()
	if strings.HasPrefix(out, ":") {
		out = "<!-- -->" + out // a line that begins with :: is a command to GitHub's runners
	}
	// Bare addresses would become links.
	out = strings.ReplaceAll(out, "://", ":<!-- -->//")
	return strings.ReplaceAll(out, "www.", "www<!-- -->.")
}
