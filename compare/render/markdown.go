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
	for _, group := range report.Groups() {
		markdownGroup(&b, group, compare.Summary())
	}
	if report.Wasteful() {
		b.WriteString("## The server's work\n\n")
		for _, group := range report.Groups() {
			markdownGroup(&b, group, compare.Work())
		}
	}
	for _, note := range report.Notes {
		b.WriteString("- ")
		if note.Mark > 0 {
			b.WriteString(superscript([]int{note.Mark}) + " ")
		}
		b.WriteString(escape(note.Text) + "\n")
	}
	if len(report.Warnings) > 0 {
		b.WriteString("\n**Files left out or incomplete**\n\n")
	}
	for _, warning := range report.Warnings {
		b.WriteString("- " + escape(warning.String()) + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

func markdownGroup(b *bytes.Buffer, group compare.Group, columns []compare.Column) {
	scenario, conditions := heading(group)
	fmt.Fprintf(b, "### %s\n\n", escape(scenario))
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
			repeated += fmt.Sprintf("- %s, median of %d: %s\n", escape(row.PolicyLabel()), len(row.Runs), escape(strings.Join(parts, " · ")))
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
	// Bare addresses would become links.
	out = strings.ReplaceAll(out, "://", ":<!-- -->//")
	return strings.ReplaceAll(out, "www.", "www<!-- -->.")
}
