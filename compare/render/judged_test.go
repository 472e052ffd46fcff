package render_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
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
