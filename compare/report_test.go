package compare_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
)

func readLab(t *testing.T) compare.Report {
	t.Helper()
	runs, warnings, err := compare.Read(lab)
	require.NoError(t, err)
	slices.Reverse(runs) // the order of the runs must not matter
	return compare.Build(runs, warnings...)
}

func column(t *testing.T, name string) compare.Column {
	t.Helper()
	for _, c := range append(compare.Columns(), compare.Summary()...) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no column %q", name)
	return compare.Column{}
}

func row(t *testing.T, report compare.Report, number int) compare.Row {
	t.Helper()
	for _, r := range report.Rows {
		if r.Number == number {
			return r
		}
	}
	t.Fatalf("no row %d", number)
	return compare.Row{}
}

func note(t *testing.T, report compare.Report, kind string) compare.Note {
	t.Helper()
	for _, n := range report.Notes {
		if n.Kind == kind {
			return n
		}
	}
	t.Fatalf("no note of kind %q in %+v", kind, report.Notes)
	return compare.Note{}
}

func TestPublishedColumnsComeFirst(t *testing.T) {
	var names []string
	for _, c := range compare.Columns() {
		names = append(names, c.Name)
		require.NotEmpty(t, c.Doc, c.Name)
		require.NotEmpty(t, c.Title, c.Name)
	}
	require.Equal(t, []string{
		"run", "policy_scenario", "total_requests", "successful_requests", "failed_requests", "success_rate", "error_rate",
		"successful_requests_per_second", "all_attempt_p95_ms", "all_attempt_p99_ms", "successful_request_p95_ms",
		"successful_request_p99_ms", "downstream_calls", "retry_amplification_factor", "retry_attempts",
		"retry_attempts_per_request", "timeout_count", "circuit_breaker_rejected", "bulkhead_rejected",
		"max_inflight_downstream", "concurrency_observation", "k6_http_req_failed_rate",
		"downstream_received", "received_amplification", "admitted_requests", "admitted_amplification", "count_difference", "max_inflight_caller", "max_inflight_overdue", "abandoned",
		"residual_share", "duplicate_share", "wasted_share", "busy_ms_per_request", "notice_mean_ms", "dials_per_request", "recovery_s", "expected_success_rate", "expected_amplification", "expected_recovery_s", "amplification_deviation", "repetitions",
	}, names)
}

func TestFigures(t *testing.T) {
	report := readLab(t)
	for _, c := range []struct {
		row  int
		name string
		want float64
	}{
		{6, "total_requests", 566},
		{6, "failed_requests", 60},
		{6, "success_rate", 506.0 / 566},
		{6, "successful_requests_per_second", 506 / 3.312},
		{6, "retry_amplification_factor", 848.0 / 566},
		{6, "retry_attempts_per_request", 282.0 / 566},
		{6, "downstream_received", 851},
		{6, "count_difference", 3},
		{6, "expected_success_rate", .957125},
		{6, "expected_amplification", 1.4725},
		{6, "amplification_deviation", 848.0/566 - 1.4725},
		{7, "rejected", 2689},
		{7, "retry_amplification_factor", 812.0 / 3120},
		{7, "admitted_requests", 560},
		{7, "admitted_amplification", 812.0 / 560},
		{8, "max_inflight_downstream", 22},
		{8, "max_inflight_caller", 16},
		{8, "max_inflight_overdue", 6},
		{9, "expected_amplification", 43.0 / 36},
		{9, "k6_http_req_failed_rate", .1651},
		{10, "max_inflight_downstream", 97}, // from the summary, there is no run.json
		{10, "successful_requests_per_second", 118 / 3.312},
	} {
		stat := row(t, report, c.row).Stat(column(t, c.name))
		require.Equal(t, 1, stat.N, "%d %s", c.row, c.name)
		require.InDelta(t, c.want, stat.Value, 1e-9, "%d %s", c.row, c.name)
	}
}

// k6 leaves metrics without samples out of its summary.
func TestCounterThatNeverFiredIsZeroAndAMissingMetricIsMissing(t *testing.T) {
	report := readLab(t)
	for _, name := range []string{"timeout_count", "circuit_breaker_rejected", "bulkhead_rejected", "rejected"} {
		stat := row(t, report, 2).Stat(column(t, name))
		require.True(t, stat.Known(), name)
		require.Zero(t, stat.Value, name)
	}
	for number, names := range map[int][]string{
		1:  {"successful_request_p95_ms", "k6_http_req_failed_rate"},
		2:  {"admitted_requests", "admitted_amplification"}, // of before there was the metric, with calls
		8:  {"all_attempt_p99_ms", "expected_success_rate"},
		9:  {"downstream_received", "received_amplification", "count_difference", "max_inflight_downstream", "abandoned", "residual_share"},
		10: {"max_inflight_overdue", "expected_success_rate", "expected_amplification", "amplification_deviation"},
	} {
		for _, name := range names {
			require.False(t, row(t, report, number).Stat(column(t, name)).Known(), "%d %s", number, name)
		}
	}
	require.Empty(t, row(t, report, 9).Text(column(t, "concurrency_observation")))

	refused := compare.Build([]compare.Run{{Name: "x", Metrics: compare.Metrics{
		"resilience_requests": {Type: compare.Counter, Values: map[string]float64{"count": 5}},
	}}}).Rows[0]
	require.True(t, refused.Stat(column(t, "admitted_requests")).Known(), "no request made a call")
	require.Zero(t, refused.Stat(column(t, "admitted_requests")).Value)
	require.False(t, refused.Stat(column(t, "admitted_amplification")).Known())

	bare := compare.Build([]compare.Run{{Name: "x", Metrics: compare.Metrics{}}})
	for _, c := range compare.Columns() {
		if c.Name != "repetitions" {
			require.False(t, bare.Rows[0].Stat(c).Known(), c.Name)
		}
	}
}

func TestRepetitionsAreOneRow(t *testing.T) {
	r := row(t, readLab(t), 5)
	require.Equal(t, "immediate-retry-random-failures", r.Text(column(t, "policy_scenario")))
	require.Equal(t, "05", r.Text(column(t, "run")))
	require.Equal(t, compare.Stat{Value: 666, Low: 660, High: 672, N: 2, Values: []float64{660, 672}}, r.Stat(column(t, "total_requests")))
	require.Equal(t, 2.0, r.Stat(column(t, "repetitions")).Value)
}

func TestConcurrencyObservation(t *testing.T) {
	for inflight, want := range map[float64]string{0: "low", 29: "low", 30: "moderate", 79: "moderate", 80: "high"} {
		report := compare.Build([]compare.Run{{Name: "x", Downstream: compare.Downstream{"max_inflight": inflight}}})
		require.Equal(t, want, report.Rows[0].Text(column(t, "concurrency_observation")), "%v", inflight)
	}
}

func TestRowsWithoutANumberComeLast(t *testing.T) {
	report := compare.Build([]compare.Run{{Name: "a"}, {Name: "z", Number: 2}, {Name: "b", Number: 10}})
	require.Equal(t, []string{"z", "b", "a"}, []string{report.Rows[0].Name, report.Rows[1].Name, report.Rows[2].Name})
}

func TestNotes(t *testing.T) {
	report := readLab(t)
	counts := note(t, report, "counts")
	require.Equal(t, []string{"06"}, counts.Runs)
	require.Contains(t, counts.Text, "agree in 7 of 8 runs")
	require.Contains(t, counts.Text, "06 (+3)")
	require.Contains(t, row(t, report, 6).Marks(column(t, "count_difference")), counts.Mark)

	capped := note(t, report, "capped")
	require.Equal(t, []string{"01", "08", "09"}, capped.Runs)
	require.Contains(t, row(t, report, 8).Marks(column(t, "all_attempt_p95_ms")), capped.Mark)
	require.Empty(t, row(t, report, 8).Marks(column(t, "all_attempt_p99_ms")), "it has none")
	require.Empty(t, row(t, report, 2).Marks(column(t, "all_attempt_p95_ms")))

	above := note(t, report, "server-above-caller")
	require.Equal(t, []string{"08", "10"}, above.Runs)
	require.Contains(t, above.Text, "08: 22 in the server, 16 at the caller, 6 overdue, 88 abandoned")

	require.Contains(t, note(t, report, "exit-code").Text, "07 with 99")
	require.Contains(t, note(t, report, "short").Text, "3.3 s")
	require.Contains(t, note(t, report, "closed-loop").Text, "Compare rates")
	require.Contains(t, note(t, report, "no-http-metrics").Text, "8 of 9 runs")
	var reasons []string
	for _, n := range report.Notes {
		if n.Kind == "outside-model" {
			reasons = append(reasons, n.Text)
		}
	}
	require.Len(t, reasons, 3)
}

// The caller calls the first tier, so that it is this one's count that must agree.
func TestTiersBetweenCallerAndServer(t *testing.T) {
	runs, _, err := compare.Read(lab + "/06-*")
	require.NoError(t, err)
	runs[0].Tiers = []compare.Tier{{Policy: "a", Received: 848, Calls: 1696}, {Policy: "b", Received: 1696, Calls: 5088}}
	report := compare.Build(runs)
	require.Zero(t, report.Rows[0].Stat(column(t, "count_difference")).Value)
	require.False(t, report.Rows[0].Stat(column(t, "expected_amplification")).Known())
	require.Contains(t, note(t, report, "tiers").Text, "06: 848 requests became 5088 calls, 6.000 each (a 2.000 × b 3.000)")
	require.Contains(t, note(t, report, "outside-model").Text, "tiers between the caller and the server retry too")
}

func TestAgreementOfAllCountsIsSaid(t *testing.T) {
	runs, _, err := compare.Read(lab + "/0[125]-*")
	require.NoError(t, err)
	require.Contains(t, note(t, compare.Build(runs), "counts").Text, "agree in all 4 runs")
}

func TestRepetitionsOfSomethingElseAreSaid(t *testing.T) {
	runs, _, err := compare.Read(lab + "/05-*")
	require.NoError(t, err)
	require.NotContains(t, kinds(compare.Build(runs)), "repetitions-differ")
	runs[1].Policy.MaxAttempts = 4
	require.Contains(t, note(t, compare.Build(runs), "repetitions-differ").Text, "Run 05-r2 differs from 05-r1")
}

func kinds(report compare.Report) []string {
	var out []string
	for _, n := range report.Notes {
		out = append(out, n.Kind)
	}
	return out
}

// Who makes the calls of a script that counts under other names is not known.
func TestAbsenceOfHTTPMetricsIsExplainedForOurMetricsOnly(t *testing.T) {
	own := compare.Metrics{"resilience_requests": {Type: compare.Counter, Values: map[string]float64{"count": 2}}}
	require.Contains(t, kinds(compare.Build([]compare.Run{{Name: "x", Metrics: own}})), "no-http-metrics")
	runs, _, err := compare.Reader{Names: map[string]string{"total_requests": "iterations"}}.Read(
		write(t, t.TempDir(), "a.json", `{"metrics":{"iterations":{"count":2,"rate":1}}}`))
	require.NoError(t, err)
	require.NotContains(t, kinds(compare.Build(runs)), "no-http-metrics")
	require.NotContains(t, kinds(compare.Build([]compare.Run{{Name: "x", Metrics: compare.Metrics{}}})), "no-http-metrics")
}

func TestFigureThatRunFileLacksIsMissing(t *testing.T) {
	report := compare.Build([]compare.Run{{Name: "x", Downstream: compare.Downstream{"received": 7}}})
	require.Equal(t, 7.0, report.Rows[0].Stat(column(t, "downstream_received")).Value)
	for _, name := range []string{"abandoned", "max_inflight_downstream", "max_inflight_overdue", "residual_share"} {
		require.False(t, report.Rows[0].Stat(column(t, name)).Known(), name)
	}
}
