package render

import (
	"encoding/csv"
	"io"
	"strings"

	"github.com/retrylab/retrylab/compare"
)

// CSV writes the columns of report.Columns under their names, and at the end that
// of the labs where rows are of several, one line a row, with numbers to 6 decimals and missing values empty,
// and so are differences that are not significant. Text that a spreadsheet
// would take for a formula gets an apostrophe in front.
func CSV(w io.Writer, report compare.Report) error {
	out := csv.NewWriter(w)
	columns := append(report.Columns(), report.LabColumn()...)
	record := make([]string, len(columns))
	for i, c := range columns {
		record[i] = c.Name
	}
	if err := out.Write(record); err != nil {
		return err
	}
	for _, row := range report.Rows {
		for i, c := range columns {
			record[i] = ""
			if stat := row.Stat(c); c.Kind == compare.Text {
				record[i] = defuse(row.Text(c))
			} else if stat.Known() && !row.NoDifference(c) {
				record[i] = exact(stat.Value)
			}
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// defuse keeps a spreadsheet from running the text. Leading blanks do not stop
// it from doing so, and control characters have no place in a name.
func defuse(text string) string {
	text = printable(text)
	if trimmed := strings.TrimLeft(text, " \u00a0\uFFFD"); trimmed != "" && strings.ContainsRune("=+-@", rune(trimmed[0])) {
		return "'" + text
	}
	return text
}
