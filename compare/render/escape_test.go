package render_test

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
	"github.com/retrylab/retrylab/compare/render"
)

// nasty is a report whose every name is the text.
func nasty(name string) compare.Report {
	run := compare.Run{
		Lab: name, Number: 1, Name: name, Repetition: 1,
		Policy:   compare.Policy{Name: name, Guards: []string{name}, MaxAttempts: 1},
		Scenario: compare.Scenario{Name: name, Params: map[string]float64{name: 1}, Cancellation: name},
		Setup:    &compare.Setup{Plan: name, Mode: name, Runner: name, Machine: name, VUs: 1},
		Metrics: compare.Metrics{
			"resilience_requests":         {Type: compare.Counter, Values: map[string]float64{"count": 2, "rate": 1}},
			"resilience_success":          {Type: compare.Rate, Values: map[string]float64{"passes": 1, "fails": 1}},
			"resilience_downstream_calls": {Type: compare.Counter, Values: map[string]float64{"count": 3, "rate": 1}},
		},
	}
	return compare.Build([]compare.Run{run}, compare.Warning{File: name, Reason: name})
}

func TestHTMLEscapesNames(t *testing.T) {
	for _, name := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</title><script>x`, `</style><script>x`, `' onload='x`,
	} {
		for _, f := range []renderer{render.HTML, diffRenderer(render.DiffHTML)} {
			got := text(t, f, nasty(name))
			require.Equal(t, 1, strings.Count(got, "<script"), "only the page's own: %s", name)
			for _, bad := range []string{"<img", " onload='", "onerror=alert(1)>", "</title><script"} {
				require.NotContains(t, got, bad, name)
			}
		}
	}
	for _, f := range []renderer{render.HTML, diffRenderer(render.DiffHTML)} {
		got := text(t, f, nasty("a<b"))
		require.Contains(t, got, "a&lt;b")
		for _, name := range []string{"http:", "https:", "//", "url(", "@import"} {
			require.NotContains(t, got, name, "the page must not ask the network")
		}
	}
}

// diffRenderer renders the diff of a report's runs with themselves.
func diffRenderer(f func(io.Writer, compare.Diff) error) renderer {
	return func(w io.Writer, report compare.Report) error {
		var runs []compare.Run
		for _, row := range report.Rows {
			runs = append(runs, row.Runs...)
		}
		return f(w, compare.DiffOptions{}.Build(runs, runs, report.Warnings...))
	}
}

func TestDiffMarkdownEscapesNames(t *testing.T) {
	got := text(t, diffRenderer(render.DiffMarkdown), nasty("a|b\nc<script> @team #12 https://x.example"))
	for _, bad := range []string{"<script", "\nc", "@team", "#12", "://"} {
		require.NotContains(t, got, bad)
	}
	require.Contains(t, got, "a\\|b c&lt;script&gt;")
}

// A runner of GitHub's takes a line that begins with :: for a command.
func TestNoLineIsACommandToGitHub(t *testing.T) {
	table := func(w io.Writer, r compare.Report) error { return render.Table(w, r, render.Options{}) }
	diff := diffRenderer(func(w io.Writer, d compare.Diff) error { return render.DiffTable(w, d, render.Options{}) })
	for _, f := range []renderer{render.Markdown, diffRenderer(render.DiffMarkdown), table, diff} {
		for line := range strings.Lines(text(t, f, nasty("::error::forged"))) {
			require.False(t, strings.HasPrefix(strings.TrimSpace(line), "::"), line)
		}
	}
	got := text(t, render.Annotations, nasty("a\nb,c:d%0A::error::forged"))
	require.Equal(t, "::warning title=file left out or incomplete::a b,c:d%250A::error::forged: a b,c:d%250A::error::forged\n", got)
}

func TestJUnitIsXMLWhateverTheNames(t *testing.T) {
	name := "<script>]]>&\"\x00\x1b\n=cmd\ufffe"
	report := nasty(name)
	report.Checks = []compare.Check{{Gate: name, Row: name, Outcome: compare.Failed}}
	for _, f := range []renderer{render.JUnit, diffRenderer(render.DiffJUnit)} {
		got := text(t, f, report)
		require.NotContains(t, got, "<script")
		decoder := xml.NewDecoder(strings.NewReader(got))
		for {
			_, err := decoder.Token()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
	}
}

func TestMarkdownEscapesNames(t *testing.T) {
	got := text(t, render.Markdown, nasty("a|b\nc<script>`*_[x](y) @team #12 https://x.example"))
	require.NotContains(t, got, "<script")
	require.NotContains(t, got, "\nc")
	require.NotContains(t, got, "@team")
	require.NotContains(t, got, "#12")
	require.NotContains(t, got, "://")
	require.Contains(t, got, "a\\|b c&lt;script&gt;\\`\\*\\_\\[x\\](y)")
	cells := 0
	for _, line := range strings.Split(got, "\n") {
		if strings.HasPrefix(line, "| 01 ") {
			cells = strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") - 1
		}
	}
	require.Equal(t, len(compare.Summary()), cells)
}

func TestCSVDefusesFormulas(t *testing.T) {
	for _, name := range []string{"=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\u00a0=1", "\x00=1"} {
		records, err := csv.NewReader(strings.NewReader(text(t, render.CSV, nasty(name)))).ReadAll()
		require.NoError(t, err)
		require.Len(t, records, 2)
		require.True(t, strings.HasPrefix(records[1][1], "'"), "%q became %q", name, records[1][1])
	}
	for _, name := range []string{"jitter-fixed-delay", "a=b", `a,"b"`} {
		records, err := csv.NewReader(strings.NewReader(text(t, render.CSV, nasty(name)))).ReadAll()
		require.NoError(t, err)
		require.Equal(t, name, records[1][1])
	}
	records, err := csv.NewReader(strings.NewReader(text(t, diffRenderer(render.DiffCSV), nasty("=1")))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, "'=1", records[1][0])
	records, err = csv.NewReader(strings.NewReader(text(t, render.CSV, nasty("a\nb")))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, "a b", records[1][1])
}

func TestTableLetsNoControlCharactersThrough(t *testing.T) {
	got := text(t, func(w io.Writer, r compare.Report) error { return render.Table(w, r, render.Options{}) },
		nasty("a\x1b[31mred\nb\rc\u202ed\u200b"))
	require.NotContains(t, got, "\x1b")
	require.NotContains(t, got, "\r")
	require.NotContains(t, got, "\u202e")
	require.NotContains(t, got, "\nb")
}

func TestJSONKeepsNamesAndIsJSON(t *testing.T) {
	name := "<script>|\n=cmd\"\u2028"
	data := text(t, render.JSON, nasty(name))
	require.NotContains(t, data, "<script")
	var got struct {
		Schema string
		Rows   []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(data), &got))
	require.Equal(t, render.Schema, got.Schema)
	require.Equal(t, name, got.Rows[0]["policy_scenario"])
	require.Equal(t, 1.5, got.Rows[0]["retry_amplification_factor"])
	missing, there := got.Rows[0]["k6_http_req_failed_rate"]
	require.True(t, there)
	require.Nil(t, missing)
}
