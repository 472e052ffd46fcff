package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
	"github.com/retrylab/retrylab/compare/render"
)

// repeated are six repetitions of four runs, with an account by the second,
// rejections, and the amplification of one of them times a factor.
func repeated(lab string, factor float64) []compare.Run {
	var runs []compare.Run
	for i, p := range []struct {
		policy, scenario            string
		success, calls, rejected, t float64
	}{
		{"no-retry-standard-timeout", "random-failures", 6500, 10000, 0, 121},
		{"immediate-retry", "random-failures", 9571, 14725 * factor, 0, 301},
		{"circuit-breaker", "outage", 6200, 7100, 3300, 330},
		{"bulkhead", "outage", 6900, 9800, 1200, 340},
	} {
		for r := range 6 {
			noise := 1 + .004*float64((5*r+3*i)%7-3)
			run := compare.Run{
				Lab: lab, Number: i + 1, Name: p.policy + "-" + p.scenario, Repetition: r + 1,
				Policy:   compare.Policy{Name: p.policy, MaxAttempts: 3, Guards: []string{"retry", "timeout"}, AttemptTimeoutMS: 260},
				Scenario: compare.Scenario{Name: p.scenario, Params: map[string]float64{"delay_ms": 120, "failure_rate": .35}},
				Setup: &compare.Setup{
					Plan: "matrix", Mode: "editorial", Seed: uint64(r + 1), VUs: 40, DurationMS: 60000, Runner: "retrylab 0.1.0", Machine: "linux/amd64",
				},
				Metrics: compare.Metrics{
					"resilience_requests":         {Type: compare.Counter, Values: map[string]float64{"count": 10000, "rate": 10000 / (60.2 * noise)}},
					"resilience_success":          {Type: compare.Rate, Values: map[string]float64{"passes": p.success * noise, "fails": 1}},
					"resilience_downstream_calls": {Type: compare.Counter, Values: map[string]float64{"count": p.calls * noise, "rate": 1}},
					"resilience_success_duration": {Type: compare.Trend, Values: map[string]float64{"p(95)": p.t * noise, "avg": 1}},
					"resilience_attempt_duration": {Type: compare.Trend, Values: map[string]float64{"p(95)": p.t * noise / 2, "avg": 1}},
				},
				Downstream: compare.Downstream{"received": p.calls * noise, "max_inflight": 40, "busy_ms": 1e6, "residual_ms": 8e4, "duplicate_ms": 0},
			}
			if p.rejected > 0 {
				run.Metrics["resilience_rejected_"+map[string]string{"circuit-breaker": "breaker", "bulkhead": "bulkhead"}[p.policy]] =
					compare.Metric{Type: compare.Counter, Values: map[string]float64{"count": p.rejected, "rate": 1}}
			}
			for t := range 30 {
				second := compare.Second{T: t, Good: p.success / 60, Inflight: 20}
				if p.scenario == "outage" && t >= 10 && t < 18 {
					second.Good, second.Inflight = 0, 40-float64(20*i-40)
				}
				run.Series = append(run.Series, second)
			}
			runs = append(runs, run)
		}
	}
	return runs
}

// judged is a report with all that can be asked for.
func judged(t *testing.T) compare.Report {
	t.Helper()
	gates, err := compare.ParseGates([]string{
		"amplification<1.5", "scenario=random-failures success_rate>=95%", "policy=nobody p95<100", "downstream_calls/requests<=1.6",
	})
	require.NoError(t, err)
	return compare.Options{Gates: gates, Baseline: "no-retry-standard-timeout"}.Build(repeated("judged-lab", 1),
		compare.Warning{File: "05-x.summary.json", Reason: "not a k6 summary: left out"})
}

// changed is a diff with something worse, better, alike and missing.
func changed(t *testing.T) compare.Diff {
	t.Helper()
	base, head := repeated("before", 1), repeated("after", 1.2)
	for i := range head {
		if head[i].Policy.Name == "bulkhead" {
			head[i].Metrics["resilience_success_duration"].Values["p(95)"] *= .8
			delete(head[i].Downstream, "duplicate_ms")
		}
		if head[i].Policy.Name == "circuit-breaker" {
			head[i].Name = fmt.Sprint("new-", head[i].Name)
		}
	}
	return compare.DiffOptions{}.Build(base, head, compare.Warning{File: "05-x.summary.json", Reason: "not a k6 summary: left out"})
}

// twoLabs is a report of two labs of the same runs, given in this order.
func twoLabs(t *testing.T, o compare.Options) compare.Report {
	t.Helper()
	runs, warnings, err := compare.Read("before=../testdata/lab/0[56]-*", "after=../testdata/lab/0[567]-*")
	require.NoError(t, err)
	require.Empty(t, warnings)
	return o.Build(runs)
}

func TestRowsOfTwoLabsAreToldApart(t *testing.T) {
	report := twoLabs(t, compare.Options{Baseline: "jitter"})
	table, markdown := text(t, renderers()["comparison.txt"], report), text(t, render.Markdown, report)
	require.Regexp(t, `(?m)^ 05  immediate-retry  before +666 (.|\n)* 05  immediate-retry  after +666`, table)
	require.Contains(t, table, "Retry Lab  7 runs of before, after")
	require.Contains(t, markdown, "| 06 | jitter | before | 566 ")
	require.Contains(t, markdown, "| 06 | jitter | after | 566 ")
	require.Contains(t, markdown, "- immediate-retry of after, median of 2: ")

	var labs []string
	for line := range strings.Lines(text(t, render.CSV, report)) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		labs = append(labs, fields[len(fields)-1])
	}
	require.Equal(t, []string{"lab", "before", "after", "before", "after", "after"}, labs)

	page := text(t, render.HTML, report)
	for _, want := range []string{
		`<title>05 immediate-retry of before: 1.476 calls per request`, `>05 immediate-retry of after</text>`,
		`<title>06 jitter of after, random-failures`, `>07 circuit-breaker-random-failures of after</text>`,
		`<th scope="row">jitter</th><td class="words">before</td>`, `<th scope="row">jitter-random-failures</th><td class="words">after</td>`,
	} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, `<title>06 jitter, random-failures`)

	grouped := text(t, renderers()["comparison.txt"], twoLabs(t, compare.Options{GroupBy: "lab"}))
	require.Regexp(t, `(?m)^ before$(.|\n)*^ after$`, grouped)
	require.NotRegexp(t, `(?m)^ 05 .* (before|after) `, grouped)
}

func TestNamesInPlotsKeepTheirLabs(t *testing.T) {
	var runs []compare.Run
	for _, lab := range []string{"matrix-editorial-20261130-010430", "matrix-editorial-20261130-030039"} {
		for _, run := range repeated(lab, 1) {
			run.Policy.Name, run.Name = run.Policy.Name+"-of-a-very-long-name-indeed", run.Name+"-of-a-very-long-name-indeed"
			runs = append(runs, run)
		}
	}
	page := text(t, render.HTML, compare.Build(runs))
	for _, end := range []string{"010430", "030039"} {
		require.Contains(t, page, ">01 no-retry-standard-time… of matrix-…"+end+"</text>")
	}
}

// The headings of the page are in full, and its cells explain them.
func TestLegendOfShortHeadingsIsInTheTableOnly(t *testing.T) {
	const legend = "calls/req.: amplification"
	require.Contains(t, text(t, renderers()["comparison.txt"], judged(t)), legend)
	for _, f := range []renderer{render.HTML, render.Markdown} {
		require.NotContains(t, text(t, f, judged(t)), legend)
	}
}

func TestGateOfAFigureThatRepetitionsLackSaysSo(t *testing.T) {
	gates, err := compare.ParseGates([]string{"policy=bulkhead p95<400"})
	require.NoError(t, err)
	runs := repeated("lab", 1)
	for i := range runs {
		if runs[i].Repetition > 1 {
			delete(runs[i].Metrics, "resilience_success_duration")
		}
	}
	report := compare.Options{Gates: gates}.Build(runs)
	const want = "04 bulkhead-outage: p95 339, wanted < 400: it is in 1 of 6 repetitions"
	for _, f := range []renderer{renderers()["comparison.txt"], render.JUnit, render.Annotations} {
		require.Contains(t, strings.ReplaceAll(text(t, f, report), "&lt;", "<"), want)
	}
}
