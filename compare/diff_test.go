package compare_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
)

// repeated are repetitions of two runs, whose figures scatter by a percent, with
// the amplification times a factor.
func repeated(lab string, repetitions int, factor float64) []compare.Run {
	var runs []compare.Run
	for r := range repetitions {
		for number, name := range []string{"", "jitter", "immediate-retry"} {
			if name == "" {
				continue
			}
			noise := 1 + .01*float64((7*r+3*number)%5-2)/2
			runs = append(runs, compare.Run{
				Lab: lab, Number: number, Name: name + "-random-failures", Repetition: r + 1,
				Policy:   compare.Policy{Name: name, MaxAttempts: 3, Guards: []string{"retry", "timeout"}, AttemptTimeoutMS: 260},
				Scenario: compare.Scenario{Name: "random-failures", Params: map[string]float64{"delay_ms": 120, "failure_rate": .35}},
				Setup:    &compare.Setup{Plan: "matrix", Mode: "editorial", VUs: 40, DurationMS: 60000, Runner: "retrylab 0.1.0", Machine: "linux/amd64"},
				Metrics: compare.Metrics{
					"resilience_requests":         {Type: compare.Counter, Values: map[string]float64{"count": 10000, "rate": 160 * noise}},
					"resilience_success":          {Type: compare.Rate, Values: map[string]float64{"passes": 9571 + float64(r%3), "fails": 429 - float64(r%3)}},
					"resilience_downstream_calls": {Type: compare.Counter, Values: map[string]float64{"count": 14725 * noise * factor, "rate": 1}},
					"resilience_success_duration": {Type: compare.Trend, Values: map[string]float64{"p(95)": 300 * noise, "avg": 1}},
				},
				Downstream: compare.Downstream{"max_inflight": 40},
			})
		}
	}
	return runs
}

func judgement(t *testing.T, d compare.Diff, row int, metric string) compare.Judgement {
	t.Helper()
	for _, j := range d.Rows[row].Figures {
		if j.Column.Name == metric {
			return j
		}
	}
	t.Fatalf("no figure %q", metric)
	return compare.Judgement{}
}

func TestTwoIdenticalLabsDoNotDiffer(t *testing.T) {
	d := compare.DiffOptions{}.Build(repeated("base", 6, 1), repeated("head", 6, 1))
	require.Len(t, d.Rows, 2)
	require.Len(t, d.Columns, 5, "the work of the server has nobody counted")
	for _, row := range d.Rows {
		for _, j := range row.Figures {
			require.Equal(t, compare.Alike, j.Verdict, "%s %s", row.Name, j.Column.Name)
		}
	}
	require.Equal(t, compare.Alike, d.Outcome())
	require.Equal(t, []string{"chance"}, noteKinds(d))
}

func TestTwentyPercentMoreAmplificationIsWorse(t *testing.T) {
	d := compare.DiffOptions{}.Build(repeated("base", 6, 1), repeated("head", 6, 1.2))
	for row := range d.Rows {
		j := judgement(t, d, row, "retry_amplification_factor")
		require.Equal(t, compare.Worse, j.Verdict)
		require.InDelta(t, .0022, j.P, .0001)
		share, _ := j.Relative()
		require.InDelta(t, .2, share, .01)
		require.Equal(t, compare.Alike, judgement(t, d, row, "success_rate").Verdict)
	}
	require.Equal(t, compare.Worse, d.Outcome())
	back := compare.DiffOptions{}.Build(repeated("base", 6, 1.2), repeated("head", 6, 1))
	require.Equal(t, compare.Better, back.Outcome())
	require.Equal(t, 2, back.Count(compare.Better))
	wide := compare.DiffOptions{Floors: compare.Floors{"retry_amplification_factor": {Value: .25, Relative: true}}}.
		Build(repeated("base", 6, 1), repeated("head", 6, 1.2))
	require.Equal(t, compare.Alike, wide.Outcome(), "within the floor")
}

func TestTwoRepetitionsAreTooFew(t *testing.T) {
	d := compare.DiffOptions{}.Build(repeated("base", 2, 1), repeated("head", 2, 1.2))
	require.Equal(t, compare.TooFew, judgement(t, d, 0, "retry_amplification_factor").Verdict)
	require.Equal(t, compare.TooFew, d.Outcome())
	require.Zero(t, d.Count(compare.Worse)+d.Count(compare.Alike))
	require.Contains(t, d.Notes[0].Text, "Too few repetitions in 10 comparisons")
	require.Contains(t, d.Notes[0].Text, "It takes 4 on each side")
}

// A job that measures base and head in turn makes one lab of each repetition.
func TestLabsOfOneRepetitionEachArePooled(t *testing.T) {
	var base, head []compare.Run
	for i, run := range repeated("", 6, 1) {
		run.Lab, run.Repetition = fmt.Sprintf("base-%d", i/2), 1
		base = append(base, run)
	}
	for i, run := range repeated("", 6, 1.2) {
		run.Lab, run.Repetition, run.Number = fmt.Sprintf("head-%d", i/2), 1, run.Number+7
		head = append(head, run)
	}
	d := compare.DiffOptions{}.Build(base, head)
	require.Len(t, d.Rows, 2)
	require.Equal(t, []int{6, 6}, []int{d.Rows[0].Base, d.Rows[0].Head})
	require.Equal(t, compare.Worse, d.Outcome())
	require.Len(t, d.Base, 6)
}

func TestWhatIsOnOneSideOnlyIsSaid(t *testing.T) {
	base, head := repeated("base", 6, 1), repeated("head", 6, 1)
	base[0].Name, head[1].Name = "gone-x", "new-x"
	head[3].Policy.MaxAttempts = 4
	d := compare.DiffOptions{}.Build(base, head)
	require.Equal(t, []string{"only-in-base", "settings-differ", "only-in-head", "chance"}, noteKinds(d))
	require.Equal(t, "Only in the base, so that it cannot be judged: gone-x.", d.Notes[0].Text)
	require.Equal(t, compare.TooFew, d.Outcome(), "a head that lost a row is not as good as the base")
	require.Equal(t, "only in the base: gone-x", d.Unjudged())
	nothing := compare.DiffOptions{}.Build(nil, head)
	require.Equal(t, compare.TooFew, nothing.Outcome(), "nothing to judge")
}

func TestFigureThatTheHeadLostIsNotAlike(t *testing.T) {
	head := repeated("head", 6, 1)
	for i := range head {
		head[i].Downstream = nil
	}
	d := compare.DiffOptions{}.Build(repeated("base", 6, 1), head)
	require.Equal(t, compare.Missing, judgement(t, d, 0, "max_inflight_downstream").Verdict)
	require.Equal(t, compare.TooFew, d.Outcome())
}

func TestFigureThatRepetitionsOfTheHeadLackIsNotAlike(t *testing.T) {
	d := compare.DiffOptions{}.Build(repeated("base", 6, 1), lacking("head"))
	require.Equal(t, "partial", d.Notes[0].Kind)
	require.Equal(t, "Some repetitions lack the figure, and it is judged by the others: jitter-random-failures success p95 ms in 1 of 6 repetitions of the head.", d.Notes[0].Text)
	require.Equal(t, compare.TooFew, d.Outcome())
	require.Equal(t, "1 figure missing in some or all repetitions of the head; too few repetitions in 1 comparison", d.Unjudged())

	head := lacking("head")
	for i := range head { // 4 of 6 are enough to test, and no reason to pass
		if head[i].Repetition < 5 {
			head[i].Metrics["resilience_success_duration"] = repeated("", 1, 1)[0].Metrics["resilience_success_duration"]
		}
	}
	d = compare.DiffOptions{}.Build(repeated("base", 6, 1), head)
	require.Equal(t, compare.Alike, judgement(t, d, 0, "successful_request_p95_ms").Verdict)
	require.Equal(t, compare.TooFew, d.Outcome())
	require.Contains(t, d.Notes[0].Text, "in 4 of 6 repetitions of the head")

	both := compare.DiffOptions{}.Build(head, head)
	require.Equal(t, compare.Alike, both.Outcome(), "the head lacks no more than the base")
	require.Contains(t, noteKinds(both), "partial")
}

func noteKinds(d compare.Diff) []string {
	var out []string
	for _, n := range d.Notes {
		out = append(out, n.Kind)
	}
	return out
}

func TestMetricsToJudge(t *testing.T) {
	columns, err := compare.ParseMetrics([]string{"amplification", "p99"})
	require.NoError(t, err)
	d := compare.DiffOptions{Columns: columns}.Build(repeated("base", 6, 1), repeated("head", 6, 1))
	require.Len(t, d.Rows[0].Figures, 1, "nobody counted the other")
	_, err = compare.ParseMetrics([]string{"nope", "total_requests"})
	require.ErrorContains(t, err, `unknown metric "nope"`)
	require.ErrorContains(t, err, `"total_requests" is neither better nor worse`)
}
