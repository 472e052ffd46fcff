package compare_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
)

// brownout is a run of 12 s with a dip from second 4 to 6, in which the server
// answered so many calls well in each second.
func brownout(name string, good ...float64) compare.Run {
	run := compare.Run{
		Name: name, Lab: "storm", Repetition: 1,
		Policy: compare.Policy{Name: name, MaxAttempts: 1, AttemptTimeoutMS: 260, Guards: []string{"timeout"}},
		Scenario: compare.Scenario{Name: "brownout", Cancellation: "ignore", Params: map[string]float64{
			"from_ms": 4000, "until_ms": 6000, "recovery_ms": 0, "servers": 20, "service_ms": 100, "queue": 1000, "factor": .1,
		}},
		Setup:   &compare.Setup{Plan: "p", Rate: 100, DurationMS: 12_000},
		Metrics: compare.Metrics{},
	}
	for t, v := range good {
		run.Series = append(run.Series, compare.Second{T: t, Good: v, Received: 300, Lost: 200})
	}
	return run
}

func TestRecoveryIsTheTimeUntilAsMuchIsAnsweredAsBefore(t *testing.T) {
	with := func(change func(*compare.Run), good ...float64) compare.Run {
		run := brownout("a", good...)
		change(&run)
		return run
	}
	nothing := func(*compare.Run) {}
	well := []float64{7, 100, 100, 100, 3, 0}
	after := func(good ...float64) []float64 { return append(append([]float64{}, well...), good...) }
	for name, c := range map[string]struct {
		run  compare.Run
		want float64 // below 0: missing
		note bool
	}{
		"at once":                         {with(nothing, after(100, 100, 100)...), 0, false},
		"after three seconds":             {with(nothing, after(0, 0, 20, 90, 95)...), 3, false},
		"one second is not enough":        {with(nothing, after(0, 85, 200, 0, 90, 90)...), 4, false},
		"one good second is none":         {with(nothing, after(0, 100, 0, 100, 0, 0)...), -1, true},
		"seconds that are not in a row":   {with(func(r *compare.Run) { r.Series = append(r.Series[:7], r.Series[8:]...) }, after(90, 0, 90, 0)...), -1, true},
		"never":                           {with(nothing, after(0, 0, 0, 0, 0, 0)...), -1, true},
		"when the load is over":           {with(nothing, after(0, 0, 0, 0, 0, 0, 100, 100)...), -1, true},
		"the way back belongs to the dip": {with(func(r *compare.Run) { r.Scenario.Params["recovery_ms"] = 1500 }, after(0, 0, 100, 100)...), .5, false},
		"the start is not before":         {with(nothing, append([]float64{1000}, after(0, 90, 90)[1:]...)...), 1, false},
		"nothing after it":                {with(nothing, after(100)...), -1, false},
		"nothing before it":               {with(func(r *compare.Run) { r.Scenario.Params["from_ms"] = 1500 }, after(100, 100)...), -1, false},
		"no dip":                          {with(func(r *compare.Run) { r.Scenario.Params["until_ms"] = 0 }, after(100, 100)...), -1, false},
		"not known what was run":          {with(func(r *compare.Run) { r.Setup = nil }, after(100, 100)...), -1, false},
		"no account by the second":        {with(func(r *compare.Run) { r.Series = nil }), -1, false},
	} {
		report := compare.Build([]compare.Run{c.run})
		stat := report.Rows[0].Stat(column(t, "recovery_s"))
		require.Equal(t, c.want >= 0, stat.Known(), name)
		if c.want >= 0 {
			require.InDelta(t, c.want, stat.Value, 1e-9, name)
		}
		require.Equal(t, c.note, len(notesOf(report, "unrecovered")) == 1, name)
	}
}

func notesOf(report compare.Report, kind string) (texts []string) {
	for _, note := range report.Notes {
		if note.Kind == kind {
			texts = append(texts, note.Text)
		}
	}
	return texts
}

func TestRecoveryStandsBesideItsModel(t *testing.T) {
	lost := brownout("retry", 7, 100, 100, 100, 3, 0, 0, 0, 0, 0, 0, 0)
	lost.Policy.Guards, lost.Policy.MaxAttempts = []string{"retry", "timeout"}, 3
	again := lost
	again.Repetition = 2
	again.Series = brownout("retry", 7, 100, 100, 100, 3, 0, 0, 100, 100).Series
	budget := lost
	budget.Name, budget.Policy.Budget = "budget", "tokens"
	back := brownout("once", 7, 100, 100, 100, 3, 0, 0, 0, 100, 100, 100, 100)
	report := compare.Build([]compare.Run{lost, again, budget, back})
	require.True(t, report.Dips())

	// B = (100 − 0.1·200)·2 s = 160; (160 − 200·0.26)/(200 − 100) = 1.08 s
	once := report.Rows[1]
	require.InDelta(t, 1.08, once.Stat(column(t, "expected_recovery_s")).Value, 1e-9)
	require.InDelta(t, 2, once.Stat(column(t, "recovery_s")).Value, 1e-9)
	for _, row := range []compare.Row{report.Rows[0], report.Rows[2]} {
		require.False(t, row.Stat(column(t, "expected_recovery_s")).Known())
		require.NotEmpty(t, row.Marks(column(t, "expected_recovery_s")), row.Name)
	}
	require.Equal(t, []string{
		"It was not as before, though what ailed the server was over: budget in 6 s; retry in 6 s (1 of 2 repetitions).",
	}, notesOf(report, "unrecovered"))
	require.Subset(t, notesOf(report, "outside-model"), []string{
		"Never, by the model: 300 calls per second come in while all attempts fail, for a capacity of 200.",
		"Outside model: the retry budget decides by its state.",
	})
	retry := report.Rows[2].Stat(column(t, "recovery_s"))
	require.Equal(t, compare.Stat{Low: 1, High: 1, N: 2, Values: []float64{1}, Beyond: 1}, retry)
	require.False(t, retry.Known(), "of two the greater one is beyond")

	var titles []string
	for _, table := range report.Tables() {
		titles = append(titles, table.Title)
	}
	require.Contains(t, titles, "After the dip")
	require.False(t, compare.Build([]compare.Run{brownout("x", 1, 2)}).Dips())
	require.Empty(t, notesOf(report, "closed-loop"), "the load is open")
}

// A gate on the recovery fails where there was none.
func TestGateOnARecoveryThatDidNotCome(t *testing.T) {
	gates, err := compare.ParseGates([]string{"recovery_s<=5"})
	require.NoError(t, err)
	for want, run := range map[compare.Outcome]compare.Run{
		compare.Passed: brownout("a", 7, 100, 100, 100, 3, 0, 0, 0, 100, 100, 100, 100),
		compare.Failed: brownout("a", 7, 100, 100, 100, 3, 0, 0, 0, 0, 0, 0, 0),
		compare.NoData: brownout("a", 7, 100, 100, 100, 3, 0),
	} {
		report := compare.Options{Gates: gates}.Build([]compare.Run{run})
		require.Equal(t, want, report.Checks[0].Outcome)
	}
}

func TestWhyItWasNotAsBeforeIsSaid(t *testing.T) {
	down := brownout("retry", 7, 100, 100, 100, 3, 0, 0, 0, 0, 0, 0, 0)
	down.Policy.Guards, down.Policy.MaxAttempts = []string{"retry", "timeout"}, 3
	idle := brownout("throttle", 7, 100, 100, 100, 3, 0, 0, 0, 0, 10, 10, 10)
	idle.Policy.Guards = []string{"throttle", "timeout"}
	for i := 9; i < 12; i++ {
		idle.Series[i].Received, idle.Series[i].Lost = 10, 0
	}
	busy := idle
	busy.Repetition = 2
	busy.Series = down.Series
	slow := brownout("once", 7, 100, 100, 100, 3, 0, 0, 0)
	slow.Setup = &compare.Setup{Plan: "p", Rate: 180, DurationMS: 8_000} // (320 − 52) / 20 = 13.4 s
	short := brownout("short", 7, 100, 100, 100, 3, 0, 0)
	cut := brownout("cut", 7, 100, 100, 100, 3, 0, 0, 0, 0) // of 12 s
	cut.Policy.Guards = []string{"bulkhead"}
	for want, runs := range map[string][]compare.Run{
		"retry in 6 s, as expected.": {down},
		"throttle in 6 s, where the server did well in the end and the policy held the calls back.":                           {idle},
		"throttle in 6 s (2 of 2 repetitions), where the server did well in the end in 1 and the policy held the calls back.": {idle, busy},
		"once in 2 s, where 13.4 s are expected: run longer.":                                                                 {slow},
		"cut in 3 s.": {cut},
	} {
		require.Equal(t, []string{"It was not as before, though what ailed the server was over: " + want}, notesOf(compare.Build(runs), "unrecovered"))
	}
	report := compare.Build([]compare.Run{short})
	require.Empty(t, notesOf(report, "unrecovered"))
	require.Len(t, notesOf(report, "short-of-the-dip"), 1)
	require.False(t, report.Rows[0].Stat(column(t, "expected_recovery_s")).Known())
}

// A recovery that did not come is longer than all that did: without it the worse
// side would be judged by its better repetitions alone.
func TestRecoveriesThatDidNotComeAreJudged(t *testing.T) {
	side := func(times ...int) (runs []compare.Run) { // below 0: never
		for i, seconds := range times {
			good := []float64{7, 100, 100, 100, 3, 0, 0, 0, 0, 0, 0, 0}
			if seconds >= 0 {
				for t := 6 + seconds; t < 12; t++ {
					good[t] = 100
				}
			}
			run := brownout("a", good...)
			run.Repetition = i + 1
			runs = append(runs, run)
		}
		return runs
	}
	columns, err := compare.ParseMetrics([]string{"recovery_s"})
	require.NoError(t, err)
	never, soon := side(-1, -1, -1, -1, -1, -1, -1, -1), side(0, 1, 1, 0, 1, 0, 1, 0)
	for name, c := range map[string]struct {
		base, head []compare.Run
		want       compare.Verdict
	}{
		"by a second":         {side(0, 0, 0, 0, 0, 0, 0, 0), side(1, 1, 1, 1, 1, 1, 1, 1), compare.Alike},
		"by two":              {side(0, 0, 0, 0, 0, 0, 0, 0), side(2, 2, 2, 2, 2, 2, 2, 2), compare.Worse},
		"half of it to all":   {side(0, 0, 1, 1, -1, -1, -1, -1), side(2, 3, 3, 2, 3, 2, 3, 2), compare.Alike},
		"always to never":     {soon, never, compare.Worse},
		"never to always":     {never, soon, compare.Better},
		"never to never":      {never, never, compare.Alike},
		"most to few":         {side(0, 1, 0, 1, 0, 1, -1), side(-1, -1, -1, -1, -1, -1, 1), compare.Worse},
		"too few to be told":  {side(0, 1), side(-1, -1), compare.TooFew},
		"one, and never then": {side(0, 1, 0, 1), side(-1, -1, -1, -1), compare.Worse},
	} {
		diff := compare.DiffOptions{Columns: columns}.Build(c.base, c.head)
		require.Equal(t, c.want, diff.Rows[0].Figures[0].Verdict, "%s: %+v", name, diff.Rows[0].Figures[0])
	}
	diff := compare.DiffOptions{Columns: columns}.Build(soon, never)
	var beyond []string
	for _, note := range diff.Notes {
		if note.Kind == "beyond" {
			beyond = append(beyond, note.Text)
		}
	}
	require.Equal(t, []string{"Beyond what was watched, which counts as greater than all: a recovery s in 8 of 8 repetitions of the head."}, beyond)
}

// A gate of the median: two of three that never came are its.
func TestGateCountsRecoveriesThatDidNotCome(t *testing.T) {
	soon := brownout("a", 7, 100, 100, 100, 3, 0, 100, 100, 100)
	never := brownout("a", 7, 100, 100, 100, 3, 0, 0, 0, 0, 0, 0, 0)
	repeated := func(runs ...compare.Run) []compare.Run {
		for i := range runs {
			runs[i].Repetition = i + 1
		}
		return runs
	}
	gates, err := compare.ParseGates([]string{"recovery_s<3"})
	require.NoError(t, err)
	for _, c := range []struct {
		runs []compare.Run
		want compare.Outcome
	}{
		{repeated(soon, soon, never), compare.Passed},
		{repeated(soon, never, never), compare.Failed},
		{repeated(soon, never), compare.Failed},
		{repeated(never, never, never), compare.Failed},
	} {
		report := compare.Options{Gates: gates, LeastRepetitions: 2}.Build(c.runs)
		require.Equal(t, c.want, report.Checks[0].Outcome)
	}
}

func TestRecoveryAtItsEdges(t *testing.T) {
	for name, c := range map[string]struct {
		run  compare.Run
		want float64
	}{
		"all seconds before it count":         {brownout("a", 7, 100, 100, 70, 3, 0, 82, 82), 0},
		"the second in which it ends is none": {brownout("a", 7, 100, 100, 100, 3, 0, 0, 0, 0, 0, 0, 100, 100), -1},
	} {
		stat := compare.Build([]compare.Run{c.run}).Rows[0].Stat(column(t, "recovery_s"))
		require.Equal(t, c.want >= 0, stat.Known(), name)
		if c.want >= 0 {
			require.InDelta(t, c.want, stat.Value, 1e-9, name)
		}
	}
	last := func(name string, received, lost float64) compare.Run {
		run := brownout(name, 7, 100, 100, 100, 3, 0, 0, 0, 0, 10, 10, 10)
		run.Policy.Guards = []string{"throttle", "timeout"}
		for i := 9; i < 12; i++ {
			run.Series[i].Received, run.Series[i].Lost = received, lost
		}
		return run
	}
	soon := brownout("once", 7, 100, 100, 100, 3, 0, 0, 0)
	soon.Setup = &compare.Setup{Plan: "p", Rate: 100, DurationMS: 8_000} // 1.08 s and two to tell
	down := brownout("retry", 7, 100, 100, 100, 3, 0, 0, 0, 0, 0, 0, 0)
	down.Policy.Guards, down.Policy.MaxAttempts = []string{"retry", "timeout"}, 3
	cut := down
	cut.Repetition, cut.Series = 2, down.Series[:9]
	tier := down
	tier.Tiers = []compare.Tier{{Policy: "a", Received: 1, Calls: 1}}
	for want, runs := range map[string][]compare.Run{
		"asked in 6 s.": {last("asked", 95, 0)},
		"lossy in 6 s.": {last("lossy", 10, 5)},
		"once in 2 s, where 1.1 s are expected: run longer.": {soon},
		"retry in 6 s (2 of 2 repetitions), as expected.":    {down, cut},
		"retry in 6 s.": {tier},
	} {
		require.Equal(t, []string{"It was not as before, though what ailed the server was over: " + want}, notesOf(compare.Build(runs), "unrecovered"))
	}
	require.Empty(t, notesOf(compare.Build([]compare.Run{brownout("old")}), "short-of-the-dip"))
}

func TestFilterOfWhatIsBeyondOrMissing(t *testing.T) {
	never := brownout("a", 7, 100, 100, 100, 3, 0, 0, 0, 0, 0, 0, 0)
	for text, want := range map[string]int{"recovery_s<3": 0, "recovery_s>3": 1, "p99>1": 0} {
		filters, err := compare.ParseFilters([]string{text})
		require.NoError(t, err)
		require.Len(t, compare.Options{Filters: filters}.Build([]compare.Run{never}).Rows, want, text)
	}
}
