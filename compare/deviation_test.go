package compare_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
)

// random35 is a run of 3 immediate attempts at 35 % failures, which the model
// expects to end with 95.7125 % successes and 1.4725 calls a request.
func random35(requests, successes, calls float64) compare.Run {
	return compare.Run{
		Name: "immediate-retry-random-failures", Number: 1,
		Policy:   compare.Policy{Name: "immediate-retry", MaxAttempts: 3, Guards: []string{"retry", "timeout"}, AttemptTimeoutMS: 260},
		Scenario: compare.Scenario{Name: "random-failures", Params: map[string]float64{"delay_ms": 120, "failure_rate": .35}},
		Setup:    &compare.Setup{},
		Metrics: compare.Metrics{
			"resilience_requests":         {Type: compare.Counter, Values: map[string]float64{"count": requests}},
			"resilience_downstream_calls": {Type: compare.Counter, Values: map[string]float64{"count": calls}},
			"resilience_success":          {Type: compare.Rate, Values: map[string]float64{"passes": successes}},
		},
	}
}

// The 99 % tolerances at 10,000 requests are .00527 of the success rate and
// .0182 calls a request, both with their correction of .00005.
func TestDeviationsBeyondTheIntervalAreMarked(t *testing.T) {
	for _, c := range []struct {
		name             string
		successes, calls float64
		success, calling bool
	}{
		{"as expected", 9571, 14725, false, false},
		{"within", 9571 - 51, 14725 + 181, false, false},
		{"success below", 9571 - 54, 14725, true, false},
		{"calls above", 9571, 14725 + 183, false, true},
		{"both", 9000, 16000, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := compare.Build([]compare.Run{random35(10000, c.successes, c.calls)})
			marked := func(name string) bool { return len(report.Rows[0].Marks(column(t, name))) > 0 }
			require.Equal(t, c.success, marked("success_rate"))
			require.Equal(t, c.calling, marked("amplification_deviation"))
			if c.success || c.calling {
				require.Contains(t, note(t, report, "deviation").Text, "99% interval")
			} else {
				require.NotContains(t, kinds(report), "deviation")
			}
		})
	}
}

func TestDeviationTakesRepetitionsTogether(t *testing.T) {
	// Half of the requests each: too few to tell in one run, enough in both.
	half := random35(10000, 9571-54, 14725)
	half.Metrics = random35(5000, (9571-54)/2.0, 14725/2.0).Metrics
	require.NotContains(t, kinds(compare.Build([]compare.Run{half})), "deviation")
	again := half
	again.Repetition = 2
	require.Contains(t, kinds(compare.Build([]compare.Run{half, again})), "deviation")
}

func TestTinyDeviationOfACertainOutcomeIsNotMarked(t *testing.T) {
	run := random35(1000, 997, 1003)
	run.Scenario.Params["failure_rate"] = 0
	require.NotContains(t, kinds(compare.Build([]compare.Run{run})), "deviation")
	worse := random35(1000, 993, 1003)
	worse.Scenario.Params["failure_rate"] = 0
	require.Contains(t, kinds(compare.Build([]compare.Run{worse})), "deviation")
}
