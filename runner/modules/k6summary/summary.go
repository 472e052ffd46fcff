// Package k6summary is the library https://jslib.k6.io/k6-summary: texts made
// of what a script's handleSummary gets.
package k6summary

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"github.com/retrylab/retrylab/runner/modules"
	"github.com/retrylab/retrylab/runner/summary"
	"github.com/retrylab/retrylab/runner/thresholds"
)

// ImportPath is the library's address without its version.
const ImportPath = "https://jslib.k6.io/k6-summary"

// New makes the module for a virtual user.
func New(vu modules.VU) (modules.Exports, error) {
	rt := vu.Runtime()
	render := func(name string, text func(data finished, options map[string]any) (string, error)) func(sobek.FunctionCall) sobek.Value {
		return func(c sobek.FunctionCall) sobek.Value {
			data, err := read(c.Argument(0))
			if err != nil {
				modules.Throw(rt, "%s(): %s", name, err)
			}
			options, _ := c.Argument(1).Export().(map[string]any)
			out, err := text(data, options)
			if err != nil {
				modules.Throw(rt, "%s(): %s", name, err)
			}
			return rt.ToValue(out)
		}
	}
	return modules.Exports{Named: map[string]any{
		"textSummary": render("textSummary", textSummary),
		"jUnit":       render("jUnit", jUnit),
	}}, nil
}

// finished is a run as handleSummary gets it.
type finished struct {
	Root    *group            `json:"root_group"`
	Metrics map[string]metric `json:"metrics"`
	Options struct {
		TrendStats []string `json:"summaryTrendStats"`
		TimeUnit   string   `json:"summaryTimeUnit"`
	} `json:"options"`
	State struct {
		Milliseconds float64 `json:"testRunDurationMs"`
	} `json:"state"`
}

// names are the names of the metrics, in order, submetrics after their metric.
func (f finished) names() []string {
	return slices.SortedFunc(maps.Keys(f.Metrics), func(a, b string) int {
		aName, aTags, _ := strings.Cut(a, "{")
		bName, bTags, _ := strings.Cut(b, "{")
		return cmp.Or(strings.Compare(aName, bName), strings.Compare(aTags, bTags))
	})
}

type group struct {
	Name   string          `json:"name"`
	Groups []*group        `json:"groups"`
	Checks []summary.Check `json:"checks"`
}

type metric struct {
	Type       string             `json:"type"`
	Contains   string             `json:"contains"`
	Values     map[string]float64 `json:"values"`
	Thresholds map[string]struct {
		OK bool `json:"ok"`
	} `json:"thresholds"`
}

func read(v sobek.Value) (finished, error) {
	var f finished
	o, ok := v.(*sobek.Object)
	if !ok {
		return f, fmt.Errorf("want the data of handleSummary as the first argument, not %q", modules.Text(v))
	}
	b, err := o.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return f, fmt.Errorf("want the data of handleSummary as the first argument: %w", err)
	}
	return f, nil
}

// textSummary is the text at the end of a run. The options are indent, which
// goes before each line, enableColors, summaryTimeUnit and summaryTrendStats.
func textSummary(f finished, options map[string]any) (string, error) {
	if unit, ok := options["summaryTimeUnit"].(string); ok {
		f.Options.TimeUnit = unit
	}
	if list, ok := options["summaryTrendStats"].([]any); ok {
		f.Options.TrendStats = nil
		for _, name := range list {
			f.Options.TrendStats = append(f.Options.TrendStats, fmt.Sprint(name))
		}
	}
	color, ok := options["enableColors"].(bool)
	d := &summary.Data{
		Root: f.Root.group(), TrendStats: f.Options.TrendStats, TimeUnit: f.Options.TimeUnit,
		Duration: time.Duration(f.State.Milliseconds * float64(time.Millisecond)),
	}
	for _, name := range f.names() {
		d.Metrics = append(d.Metrics, f.Metrics[name].metric(name, f.Options.TrendStats))
	}
	var b strings.Builder
	if err := d.Text(&b, summary.TextOptions{Color: color || !ok}); err != nil {
		return "", err
	}
	indent, _ := options["indent"].(string)
	lines := strings.SplitAfter(b.String(), "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			lines[i] = indent + line
		}
	}
	return strings.Join(lines, ""), nil
}

// group is the group in the runner's own form.
func (g *group) group() *summary.Group {
	if g == nil {
		return &summary.Group{}
	}
	out := &summary.Group{Name: g.Name, Checks: g.Checks}
	for _, inner := range g.Groups {
		out.Groups = append(out.Groups, inner.group())
	}
	return out
}

// metric is the metric in the runner's own form. Its values are in the order
// of stats, where it has these; others of a trend are left out.
func (m metric) metric(name string, stats []string) summary.Metric {
	out := summary.Metric{Name: name, Type: m.Type, Contains: m.Contains}
	if m.Type != "trend" || len(stats) == 0 {
		stats = slices.Sorted(maps.Keys(m.Values))
	}
	for _, stat := range stats {
		if v, ok := m.Values[stat]; ok {
			out.Values = append(out.Values, summary.Value{Name: stat, Number: v})
		}
	}
	for _, source := range slices.Sorted(maps.Keys(m.Thresholds)) {
		verdict := summary.Threshold{Source: source, OK: m.Thresholds[source].OK}
		if expr, err := thresholds.Parse(source); err == nil {
			if v, ok := m.Values[expr.Name()]; ok { // a trend may have been asked for others
				verdict.Aggregation, verdict.Value = expr.Name(), v
			}
		}
		out.Thresholds = append(out.Thresholds, verdict)
	}
	return out
}

type testSuites struct {
	XMLName  xml.Name  `xml:"testsuites"`
	Tests    int       `xml:"tests,attr"`
	Failures int       `xml:"failures,attr"`
	Suite    testSuite `xml:"testsuite"`
}

type testSuite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Cases    []testCase `xml:"testcase"`
}

type testCase struct {
	Name    string       `xml:"name,attr"`
	Failure *testFailure `xml:"failure"`
}

type testFailure struct {
	Message string `xml:"message,attr"`
}

// jUnit is the thresholds as JUnit's XML, one test case each. The option is
// name, the name of the suite.
func jUnit(f finished, options map[string]any) (string, error) {
	name, _ := options["name"].(string)
	suite := testSuite{Name: cmp.Or(name, "k6 thresholds")}
	for _, metricName := range f.names() {
		m := f.Metrics[metricName]
		for _, source := range slices.Sorted(maps.Keys(m.Thresholds)) {
			c := testCase{Name: metricName + " - " + source}
			if !m.Thresholds[source].OK {
				c.Failure = &testFailure{Message: m.failure()}
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, c)
		}
	}
	suite.Tests = len(suite.Cases)
	b, err := xml.MarshalIndent(testSuites{Tests: suite.Tests, Failures: suite.Failures, Suite: suite}, "", "  ")
	return xml.Header + string(b) + "\n", err
}

// failure says what the metric's values are.
func (m metric) failure() string {
	text := make([]string, 0, len(m.Values))
	for _, name := range slices.Sorted(maps.Keys(m.Values)) {
		text = append(text, name+": "+strconv.FormatFloat(m.Values[name], 'g', -1, 64))
	}
	return "failed, " + strings.Join(text, ", ")
}
