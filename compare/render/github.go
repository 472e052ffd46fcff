package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/retrylab/retrylab/compare"
)

// Annotations writes the commands by which a job of GitHub Actions marks what
// went wrong: an error for each row at which a gate failed, a warning for each
// that could not be decided and for each file that could not be read.
func Annotations(w io.Writer, report compare.Report) error {
	var b strings.Builder
	for _, c := range report.Checks {
		switch {
		case c.Bad():
			annotate(&b, "error", "gate failed: "+c.Gate, why(c))
		case c.Outcome == compare.Undecided:
			annotate(&b, "warning", "too few repetitions: "+c.Gate, why(c))
		}
	}
	annotateWarnings(&b, report.Warnings)
	_, err := io.WriteString(w, b.String())
	return err
}

// DiffAnnotations writes an error for each figure that is worse, a warning for each
// reason why something could not be judged, and one for each file that could not be
// read.
func DiffAnnotations(w io.Writer, diff compare.Diff) error {
	var b strings.Builder
	for _, row := range diff.Rows {
		for _, j := range row.Figures {
			if j.Verdict == compare.Worse {
				annotate(&b, "error", "worse: "+row.Name, j.Column.Title+" "+diffSentence(j))
			}
		}
	}
	for _, note := range diff.Notes {
		switch note.Kind {
		case "too-few":
			annotate(&b, "warning", "too few repetitions", note.Text)
		case "only-in-base", "partial", "no-row":
			annotate(&b, "warning", "not enough data to judge", note.Text)
		}
	}
	annotateWarnings(&b, diff.Warnings)
	_, err := io.WriteString(w, b.String())
	return err
}

func annotateWarnings(b *strings.Builder, warnings []compare.Warning) {
	for _, warning := range warnings {
		annotate(b, "warning", "file left out or incomplete", warning.String())
	}
}

// annotate writes one command, with what would end its title or its line escaped
// as the runner asks for.
func annotate(b *strings.Builder, level, title, message string) {
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer(":", "%3A", ",", "%2C")
	fmt.Fprintf(b, "::%s title=%s::%s\n", level, property.Replace(escape.Replace(printable(title))), escape.Replace(printable(message)))
}
