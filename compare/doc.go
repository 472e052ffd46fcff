// Package compare reads what labs wrote and turns it into a report: files on
// disk become runs ([Read]), runs become rows ([Build]), and package render
// writes a report for a terminal, Markdown, CSV, JSON and HTML.
//
// Nothing here measures or judges a policy as such. A figure that a file does
// not hold is missing, which is something other than 0, and every doubt about a
// figure is a [Note] of the report.
//
// Values are plain data without state shared between calls; a Report may be
// rendered from several goroutines at once.
package compare
