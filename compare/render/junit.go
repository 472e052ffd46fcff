package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/retrylab/retrylab/compare"
)

// The elements of a JUnit report, as far as CI servers agree on them.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
		Skipped *junitMessage `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes one suite a gate with one case a row: failed ones say what was seen
// and wanted, ones of too few repetitions are skipped. Files that could not be read
// are errors. Without gates and warnings it has no cases.
func JUnit(w io.Writer, report compare.Report) error {
	var suites []junitSuite
	for _, g := range gateResults(report.Checks) {
		suite := junitSuite{Name: printable(g.gate)}
		for _, c := range g.checks {
			one := junitCase{Class: suite.Name, Name: printable(c.Row)}
			if c.Row == "" {
				one.Name = "no row"
			}
			switch text := printable(why(c)); {
			case c.Bad():
				one.Failure = &junitMessage{Message: text}
			case c.Outcome == compare.Undecided:
				one.Skipped = &junitMessage{Message: text}
			default:
				one.Out = text
			}
			suite.Cases = append(suite.Cases, one)
		}
		suites = append(suites, suite)
	}
	return writeJUnit(w, "Retry Lab gates", suites, report.Warnings)
}

// DiffJUnit writes one suite a figure with one case a row: what is worse has
// failed, what has too few repetitions or is missing is skipped.
func DiffJUnit(w io.Writer, diff compare.Diff) error {
	var suites []junitSuite
	for i, column := range diff.Columns {
		suite := junitSuite{Name: column.Title}
		for _, row := range diff.Rows {
			j := row.Figures[i]
			one := junitCase{Class: suite.Name, Name: printable(row.Name)}
			switch text := diffSentence(j); j.Verdict {
			case compare.Worse:
				one.Failure = &junitMessage{Message: text}
			case compare.TooFew, compare.Missing:
				one.Skipped = &junitMessage{Message: text}
			default:
				one.Out = text
			}
			suite.Cases = append(suite.Cases, one)
		}
		for _, name := range diff.Gone {
			suite.Cases = append(suite.Cases, junitCase{Class: suite.Name, Name: printable(name), Skipped: &junitMessage{Message: "only in the base"}})
		}
		suites = append(suites, suite)
	}
	return writeJUnit(w, "Retry Lab diff", suites, diff.Warnings)
}

func writeJUnit(w io.Writer, name string, suites []junitSuite, warnings []compare.Warning) error {
	files := junitSuite{Name: "files"}
	for _, warning := range warnings {
		files.Cases = append(files.Cases, junitCase{
			Class: files.Name, Name: printable(warning.File), Error: &junitMessage{Message: printable(warning.Reason)},
		})
	}
	if len(warnings) > 0 {
		suites = append(suites, files)
	}
	all := junitSuites{Name: name, Suites: suites}
	for i := range suites {
		s := &suites[i]
		for _, c := range s.Cases {
			s.Tests++
			s.Failures += count(c.Failure)
			s.Errors += count(c.Error)
			s.Skipped += count(c.Skipped)
		}
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, strings.ToValidUTF8(string(data), "\uFFFD"))
	return err
}

func count(m *junitMessage) int {
	if m == nil {
		return 0
	}
	return 1
}
