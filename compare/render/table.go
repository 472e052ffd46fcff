package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/retrylab/retrylab/compare"
)

// Options are the options of Table. The zero Options are plain text, 120 columns
// wide.
type Options struct {
	// Colour allows ANSI colours.
	Colour bool
	// Width is the width of the terminal in characters, 120 if 0 or less. Long
	// policy names are cut to fit and notes are wrapped; figures never are cut,
	// so the table is at least about 95 wide.
	Width int
}

// Table writes the columns of compare.Summary, with the rows grouped by
// scenario, and the notes and warnings below.
func Table(w io.Writer, report compare.Report, opts Options) error {
	if opts.Width <= 0 {
		opts.Width = 120
	}
	t := table{opts: opts}
	t.title(report)
	for _, table := range report.Tables() {
		if table.Title != "" {
			t.line("")
			t.line(t.style(bold, printable(table.Title)))
			t.line("")
		}
		t.rows(report, table.Columns, table.Legend)
	}
	t.gates(report.Checks)
	t.notes(report.Notes, report.Warnings)
	_, err := w.Write(t.out.Bytes())
	return err
}

// rows writes the rows in these columns, grouped by scenario, and a legend.
func (t *table) rows(report compare.Report, columns []compare.Column, legend string) {
	if len(report.Rows) == 0 {
		return
	}
	t.columns = columns
	t.measure(report)
	t.head()
	for _, group := range report.Groups() {
		t.group(group)
	}
	t.line("")
	t.wrap(legend, " ", " ", dim)
}

// The styles of the table, as ANSI codes.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

type table struct {
	opts    Options
	columns []compare.Column
	widths  []int // of the values
	slots   []int // of the marks behind them
	out     bytes.Buffer
}

func (t *table) style(code, text string) string {
	if !t.opts.Colour || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (t *table) line(text string) {
	if strings.HasPrefix(strings.TrimLeft(text, " "), "::") {
		text = "·" + text // at the start of a line it would be a command to GitHub's runners
	}
	t.out.WriteString(strings.TrimRight(text, " "))
	t.out.WriteByte('\n')
}

// measure finds the widths of the columns, and cuts those of the lab and of the
// rows' names to the width.
func (t *table) measure(report compare.Report) {
	t.widths, t.slots = make([]int, len(t.columns)), make([]int, len(t.columns))
	head, total := 0, 0
	for i, c := range t.columns {
		t.widths[i] = utf8.RuneCountInString(c.Short)
		if c.Head {
			head = i
		}
		if t.groupEnd(i) == i+1 && (i == 0 || t.columns[i-1].Group != c.Group) { // a group of one
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c.Group))
		}
		for _, row := range report.Rows {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell(c, row)))
			t.slots[i] = max(t.slots[i], utf8.RuneCountInString(superscript(row.Marks(c))))
		}
	}
	for i := range t.columns {
		// A group must hold its title; its last column gives the room.
		if end := t.groupEnd(i); end > i+1 && (i == 0 || t.columns[i-1].Group != t.columns[i].Group) {
			inner := -1 - t.slot(end-1)
			for j := i; j < end; j++ {
				inner += t.full(j)
			}
			t.widths[end-1] += max(0, utf8.RuneCountInString(t.columns[i].Group)-inner)
		}
	}
	for i := range t.columns {
		total += t.full(i)
	}
	cut := func(i, least int) {
		if over := total - t.opts.Width; over > 0 && t.widths[i] > least {
			width := max(least, t.widths[i]-over)
			total -= t.widths[i] - width
			t.widths[i] = width
		}
	}
	for i, c := range t.columns {
		if c.Name == "lab" {
			cut(i, 16)
		}
	}
	cut(head, 12)
}

func (t *table) title(report compare.Report) {
	runs := 0
	for _, row := range report.Rows {
		runs += len(row.Runs)
	}
	of := ""
	if len(report.Labs) > 0 {
		of = " of " + printable(strings.Join(report.Labs, ", "))
	}
	count := fmt.Sprintf("  %d runs", runs)
	if runs == 1 {
		count = "  1 run"
	}
	t.line(t.style(bold, "Retry Lab") + count + of)
	if report.Setting != "" {
		t.wrap(printable(report.Setting), "", "", dim)
	}
	t.line("")
}

// head writes the two lines of headings; a group's title is centred over its
// columns.
func (t *table) head() {
	var top, low strings.Builder
	for i := 0; i < len(t.columns); i++ {
		end, width := t.groupEnd(i), 0
		for j := i; j < end; j++ {
			width += t.full(j)
			low.WriteString(t.pad(j, t.columns[j].Short, ""))
		}
		group := t.columns[i].Group
		if end == i+1 {
			top.WriteString(t.pad(i, group, ""))
		} else {
			inner := width - 1 - t.slot(end-1)
			text := centred(group, inner)
			top.WriteString(" " + text + strings.Repeat(" ", width-1-utf8.RuneCountInString(text)))
		}
		i = end - 1
	}
	t.line(t.style(dim, strings.TrimRight(top.String(), " ")))
	t.line(t.style(bold, strings.TrimRight(low.String(), " ")))
}

// groupEnd is the index behind the last column of the group of column i.
func (t *table) groupEnd(i int) int {
	end := i + 1
	for t.columns[i].Group != "" && end < len(t.columns) && t.columns[end].Group == t.columns[i].Group {
		end++
	}
	return end
}

// centred sets a title into the middle of a rule of the width, which the columns
// of a group are wide enough for.
func centred(title string, width int) string {
	room := max(0, width-utf8.RuneCountInString(title))
	if room < 4 {
		return strings.Repeat(" ", room/2) + title + strings.Repeat(" ", room-room/2)
	}
	left := (room - 2) / 2
	return strings.Repeat("─", left) + " " + title + " " + strings.Repeat("─", room-2-left)
}

// slot is the room behind a value for its marks, left free also without any; the
// run's number and the end of the line need none.
func (t *table) slot(i int) int {
	if i == 0 || i == len(t.columns)-1 {
		return t.slots[i]
	}
	return max(1, t.slots[i])
}

// full is the whole width of a column.
func (t *table) full(i int) int { return 1 + t.widths[i] + t.slot(i) }

// pad sets a value and its marks into the column: words to the left, figures to
// the right.
func (t *table) pad(i int, value, marks string) string {
	if n := utf8.RuneCountInString(value); n > t.widths[i] {
		if t.columns[i].Name == "lab" {
			value = ends(value, t.widths[i])
		} else {
			value = short(value, t.widths[i])
		}
	}
	fill := strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(value))
	rest := strings.Repeat(" ", t.slot(i)-utf8.RuneCountInString(marks))
	if marks != "" {
		marks = t.style(yellow, marks)
	}
	if t.columns[i].Kind == compare.Text {
		return " " + value + marks + fill + rest
	}
	return " " + fill + value + marks + rest
}

func (t *table) group(group compare.Group) {
	scenario, conditions := heading(group)
	t.line("")
	t.wrap(t.style(bold, scenario)+"  "+t.style(dim, conditions), " ", "   ", "")
	for _, row := range group.Rows {
		var b strings.Builder
		for i, c := range t.columns {
			b.WriteString(t.pad(i, cell(c, row), superscript(row.Marks(c))))
		}
		t.line(b.String())
		if parts := ranges(t.columns, row); len(parts) > 0 {
			indent := strings.Repeat(" ", t.full(0)+1)
			t.wrap(fmt.Sprintf("median of %d: %s", len(row.Runs), strings.Join(parts, " · ")), indent, indent, dim)
		}
	}
}

// gates writes what became of the gates, and why for those that did not pass.
func (t *table) gates(checks []compare.Check) {
	if len(checks) > 0 {
		t.line("")
		t.line(t.style(bold, "Gates"))
	}
	for _, g := range gateResults(checks) {
		style := green
		switch g.outcome() {
		case compare.Failed:
			style = red
		case compare.Undecided:
			style = yellow
		}
		t.wrap(printable(g.gate)+"  "+t.style(dim, g.count()), " "+t.style(style, g.sign())+" ", "   ", "")
		for _, c := range g.checks {
			if c.Outcome != compare.Passed {
				t.wrap(printable(why(c)), "     ", "     ", "")
			}
		}
	}
}

func (t *table) notes(notes []compare.Note, warnings []compare.Warning) {
	if len(notes) > 0 {
		t.line("")
	}
	for _, note := range notes {
		bullet := " · "
		if note.Mark > 0 {
			mark := superscript([]int{note.Mark})
			bullet = strings.Repeat(" ", max(0, 2-utf8.RuneCountInString(mark))) + t.style(yellow, mark) + " "
		}
		t.wrap(printable(note.Text), bullet, "   ", "")
	}
	if len(warnings) > 0 {
		t.line("")
	}
	for _, warning := range warnings {
		t.wrap(printable(warning.String()), t.style(yellow, " ! "), "   ", "")
	}
}

// wrap writes the text in lines of the table's width: the first behind one
// indent, the others behind another.
func (t *table) wrap(text, first, other, code string) {
	line, used := first, visible(first)
	start := true
	for _, word := range strings.Split(text, " ") {
		n := visible(word)
		if !start && used+1+n > t.opts.Width {
			t.line(line)
			line, used, start = other, visible(other), true
		}
		if !start {
			line, used = line+" ", used+1
		}
		if code != "" {
			word = t.style(code, word)
		}
		line, used, start = line+word, used+n, false
	}
	t.line(line)
}

// visible is the number of characters that are seen, without ANSI codes.
func visible(text string) int {
	n, escaped := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			escaped = true
		case escaped:
			escaped = r != 'm'
		default:
			n++
		}
	}
	return n
}
