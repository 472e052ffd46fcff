// Package render writes a report of package compare: as a table for a terminal,
// as Markdown, CSV, JSON, and as one self-contained HTML page.
//
// All of them take their columns from compare.Columns or compare.Summary, so the
// same figure has the same name, unit and meaning everywhere. A missing figure is
// "-" in tables, empty in CSV and null in JSON, and never 0. Names come from
// files and are not trusted: every renderer escapes them for its format.
//
// Every renderer returns the first error of its writer and nothing else, apart
// from HTML, which may also fail on its template.
package render
