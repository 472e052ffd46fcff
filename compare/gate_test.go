package compare_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
)

func judge(t *testing.T, runs []compare.Run, o compare.Options, gates ...string) compare.Report {
	t.Helper()
	parsed, err := compare.ParseGates(gates)
	require.NoError(t, err)
	o.Gates = parsed
	return o.Build(runs)
}

func outcomes(report compare.Report) []compare.Outcome {
	var out []compare.Outcome
	for _, c := range report.Checks {
		out = append(out, c.Outcome)
	}
	return out
}

func TestGates(t *testing.T) {
	runs := repeated("lab", 3, 1) // jitter and immediate-retry: amplification 1.47, success 95.7 %
	for gate, want := range map[string][]compare.Outcome{
		"amplification<1.6":                                        {"passed", "passed"},
		"amplification < 1.2":                                      {"failed", "failed"},
		"success_rate>=0.95":                                       {"passed", "passed"},
		"success_rate>=95%":                                        {"passed", "passed"},
		"downstream_calls/requests<1.6":                            {"passed", "passed"},
		"downstream_calls / total_requests<1.2":                    {"failed", "failed"},
		"policy=jitter amplification<1.2":                          {"failed"},
		"policy=jit* scenario=*-failures p95<1":                    {"failed"},
		`policy="jitter" amplification!=1`:                         {"passed"},
		"run=02 requests==10000":                                   {"passed"},
		"run=jitter-* requests==10000":                             {"passed"},
		"lab=lab requests>0":                                       {"passed", "passed"},
		"policy=nobody amplification<9":                            {"no data"},
		"p99<300":                                                  {"no data", "no data"},
		"resilience_success_duration:p(95)<400":                    {"passed", "passed"},
		"resilience_success:passes/resilience_requests:count>=.95": {"passed", "passed"},
		"resilience_success:rate>2":                                {"failed", "failed"},
		"none:count<1":                                             {"no data", "no data"},
		"http_req_duration{status:200,a:b/c<d}:p(95)<1":            {"no data", "no data"},
		"requests/retries<2":                                       {"no data", "no data"}, // divided by 0
	} {
		require.Equal(t, want, outcomes(judge(t, runs, compare.Options{}, gate)), gate)
	}
}

func TestVacuousGateIsSaid(t *testing.T) {
	report := judge(t, repeated("lab", 1, 1), compare.Options{}, "policy=nobody amplification<9", "p99<300")
	for _, c := range report.Checks {
		require.True(t, c.Bad())
	}
	text := note(t, report, "vacuous-gate").Text
	require.Contains(t, text, `"policy=nobody amplification<9" at any row`)
	require.Contains(t, text, `"p99<300" at 01 jitter-random-failures`)
}

func TestGateOfTooFewRepetitionsIsUndecided(t *testing.T) {
	report := judge(t, repeated("lab", 2, 1), compare.Options{LeastRepetitions: 3}, "policy=jitter amplification<9")
	require.Equal(t, []compare.Outcome{compare.Undecided}, outcomes(report))
	require.False(t, report.Checks[0].Bad())
	require.Contains(t, note(t, report, "undecided-gate").Text, "(2 of 3)")
}

// lacking are repetitions of which all but the first lack a figure in one row.
func lacking(lab string) []compare.Run {
	runs := repeated(lab, 6, 1)
	for i := range runs {
		if runs[i].Policy.Name == "jitter" && runs[i].Repetition > 1 {
			delete(runs[i].Metrics, "resilience_success_duration")
		}
	}
	return runs
}

func TestNoGatePassesOnAFigureThatRepetitionsLack(t *testing.T) {
	report := judge(t, lacking("lab"), compare.Options{LeastRepetitions: 1},
		"p95<400", "resilience_success_duration:p(95)<400", "p95/requests<1", "p95<1", "policy=jitter amplification<1.6")
	require.Equal(t, []compare.Outcome{"too few", "passed", "too few", "passed", "too few", "passed", "failed", "failed", "passed"}, outcomes(report))
	require.Equal(t, 6, report.Checks[0].Repetitions)
	text := note(t, report, "undecided-gate").Text
	require.Contains(t, text, `No gate passes on a figure that some repetitions lack: "p95<400" at 01 jitter-random-failures (in 1 of 6 repetitions)`)
}

func TestFigureThatRepetitionsLackHasAFootnote(t *testing.T) {
	report := compare.Build(lacking("lab"))
	n := note(t, report, "partial")
	require.Equal(t, []string{"01"}, n.Runs)
	require.Equal(t, "Some repetitions lack the figure, and the median is that of the others: 01 success p95 ms in 1 of 6 repetitions.", n.Text)
	require.Equal(t, []int{n.Mark}, row(t, report, 1).Marks(column(t, "successful_request_p95_ms")))
	require.Empty(t, row(t, report, 2).Marks(column(t, "successful_request_p95_ms")))
	require.NotContains(t, kinds(compare.Options{Baseline: "jitter"}.Build(repeated("lab", 6, 1))), "partial", "a difference of medians is one figure")
}

func TestAllFaultsOfGatesAreNamed(t *testing.T) {
	_, err := compare.ParseGates([]string{
		"amplifcation<1.5", "amplification", "amplification<many", "a/b/c<1", "policy= amplification<1", `policy="x amplification<1`,
		"nope<wrong", "<1", "", "amplification=<1", "amplification<NaN", "policy==x p95<1", "policy=x",
	})
	for _, want := range []string{
		`gate "amplifcation<1.5": unknown metric "amplifcation", did you mean "amplification"?`,
		`gate "amplification": "amplification" compares nothing`,
		`"many" is no number`, `"a/b/c" divides more than once`, `gate "policy= amplification<1"`, "the quote does not end",
		`unknown metric "nope", known are: abandoned, `, `"wrong" is no number`, "there is no metric to compare", `gate "": it compares nothing`,
		`"amplification=<1" compares nothing`, `"NaN" is no number`, `gate "policy==x p95<1"`, `gate "policy=x": it compares nothing`,
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestFilters(t *testing.T) {
	for filter, want := range map[string]int{
		"policy=jitter": 1, "amplification>1": 2, "amplification>9": 0, "policy=jitter amplification>1": 1, "scenario=nope": 0,
	} {
		filters, err := compare.ParseFilters([]string{filter})
		require.NoError(t, err)
		require.Len(t, compare.Options{Filters: filters}.Build(repeated("lab", 1, 1)).Rows, want, filter)
	}
	both, err := compare.ParseFilters([]string{"policy=jitter", "policy=imm*"})
	require.NoError(t, err)
	require.Len(t, compare.Options{Filters: both}.Build(repeated("lab", 1, 1)).Rows, 2, "any of them")
	_, err = compare.ParseFilters([]string{"", "nope"})
	require.ErrorContains(t, err, `filter "": it is empty`)
	require.ErrorContains(t, err, `filter "nope": "nope" compares nothing`)
}

func TestFilterThatSelectsNothingIsSaid(t *testing.T) {
	for filter, want := range map[string]string{
		"policy=nobody":              `no row is selected by "policy=nobody", where policy is jitter, immediate-retry`,
		"scenario=x amplification>1": `no row is selected by "scenario=x amplification>1", where scenario is random-failures; amplification is 1.4725 to 1.4725`,
		"amplification>9":            `no row is selected by "amplification>9", where amplification is 1.4725 to 1.4725`,
		"p99<1":                      `no row is selected by "p99<1", where p99 is not known`,
		"variant=x":                  `no row is selected by "variant=x", where variant is not known`,
		"policy=jitter":              "",
	} {
		filters, err := compare.ParseFilters([]string{filter})
		require.NoError(t, err)
		runs := repeated("lab", 1, 1)
		for i := range runs {
			runs[i].Metrics["resilience_downstream_calls"].Values["count"] = 14725
		}
		report := compare.Options{Filters: filters}.Build(runs)
		require.Equal(t, want, report.Unselected)
		diff := compare.DiffOptions{Filters: filters}.Build(runs, runs)
		require.Equal(t, want, diff.Unselected)
		if want != "" {
			require.Contains(t, note(t, report, "no-row").Text, "No row is selected by")
			require.Contains(t, noteKinds(diff), "no-row")
		}
	}
	two, err := compare.ParseFilters([]string{"policy=jitter", "policy=nobody"})
	require.NoError(t, err)
	report := compare.Options{Filters: two}.Build(repeated("lab", 1, 1))
	require.Len(t, report.Rows, 1)
	require.Contains(t, report.Unselected, "nobody", "the others hide no filter that selects nothing")
}

func TestOrderAndGroups(t *testing.T) {
	runs := repeated("lab", 1, 1)
	runs[0].Metrics["resilience_downstream_calls"].Values["count"] = 9e4
	for text, want := range map[string]string{"amplification": "immediate-retry", "-amplification": "jitter", "policy": "immediate-retry", "-policy": "jitter"} {
		o, err := compare.ParseOrder(text)
		require.NoError(t, err)
		require.Equal(t, want, compare.Options{Sort: o}.Build(runs).Rows[0].Policy, text)
	}
	_, err := compare.ParseOrder("nope")
	require.ErrorContains(t, err, `cannot sort by "nope"`)
	for by, want := range map[string]int{"": 1, "scenario": 1, "policy": 2, "lab": 1, "none": 1} {
		o := compare.Options{GroupBy: by}
		require.NoError(t, o.Validate())
		report := o.Build(runs)
		require.Len(t, report.Groups(), want, by)
		require.True(t, report.Tables()[0].Columns[1].Head)
	}
	require.ErrorContains(t, compare.Options{GroupBy: "nope"}.Validate(), `"nope"`)
}

func TestBaseline(t *testing.T) {
	runs := repeated("lab", 6, 1)
	for i := range runs {
		if runs[i].Policy.Name == "jitter" {
			runs[i].Metrics["resilience_success"].Values["passes"] = 6500
			runs[i].Metrics["resilience_downstream_calls"].Values["count"] = 10000
		}
	}
	report := compare.Options{Baseline: "jitter"}.Build(runs)
	retry := report.Rows[1]
	columns := map[string]compare.Column{}
	for _, c := range report.Columns() {
		columns[c.Name] = c
	}
	require.InDelta(t, .3072, retry.Stat(columns["extra_success"]).Value, 1e-9)
	require.InDelta(t, .4725, retry.Stat(columns["extra_calls"]).Value, .01)
	require.InDelta(t, .65, retry.Stat(columns["extra_success_per_extra_call"]).Value, .02)
	require.False(t, report.Rows[0].Stat(columns["extra_success"]).Known(), "the baseline itself")

	same := compare.Options{Baseline: "jitter"}.Build(repeated("lab", 6, 1)).Rows[1]
	require.True(t, same.NoDifference(columns["extra_success"]))
	require.False(t, same.Stat(columns["extra_success_per_extra_call"]).Known())

	few := compare.Options{Baseline: "jitter"}.Build(runs[:6])
	require.Contains(t, note(t, few, "baseline-too-few").Text, "it takes 4 of each")
	require.NotEmpty(t, few.Rows[1].Marks(columns["extra_success"]))
	require.Contains(t, note(t, compare.Options{Baseline: "nobody"}.Build(runs), "baseline-missing").Text, "No row of nobody")
}

func TestLabOlderThanItsPlan(t *testing.T) {
	plan := func(name string) map[int]string {
		if name != "matrix" {
			return nil
		}
		return map[int]string{1: "jitter-random-failures", 2: "bulkhead-random-failures"}
	}
	report := compare.Options{Plan: plan}.Build(repeated("old", 1, 1))
	require.Equal(t, "The plan has changed since old was run: 02 immediate-retry-random-failures is bulkhead-random-failures now.",
		note(t, report, "older-than-plan").Text)
}

func TestUnequalLoadsAreNamed(t *testing.T) {
	runs := repeated("lab", 1, 1)
	require.NotContains(t, note(t, compare.Build(runs), "closed-loop").Text, "Loads differ")
	runs[0].Metrics["resilience_requests"].Values["count"] = 20000
	require.Contains(t, note(t, compare.Build(runs), "closed-loop").Text, "random-failures 10000 to 20000 requests")
}
