package render_test

import (
	"bytes"
	"testing"

	"github.com/retrylab/retrylab/compare"
	"github.com/retrylab/retrylab/compare/render"
	"github.com/stretchr/testify/require"
)

// wasting is a run of 100 requests whose server worked 100 s.
func wasting(number int, residual, duplicate float64) compare.Run {
	return compare.Run{
		Lab: "lab", Number: number, Name: "p-s-v", Variant: "v", Repetition: 1,
		Policy: compare.Policy{Name: "p"}, Scenario: compare.Scenario{Name: "s"},
		Metrics: compare.Metrics{
			"resilience_requests": {Type: compare.Counter, Values: map[string]float64{"count": 100, "rate": 10}},
		},
		Downstream: compare.Downstream{
			"received": 300, "busy_ms": 100_000, "residual_ms": residual, "duplicate_ms": duplicate, "abandoned": 7,
			"notice_count": 7, "notice_mean_ms": 12.5, "dials": 250,
		},
	}
}

func TestWorkOfTheServerHasATableWhereMuchOfItIsWasted(t *testing.T) {
	report := compare.Build([]compare.Run{wasting(1, 30_000, 5_000)})
	var text, page bytes.Buffer
	require.NoError(t, render.Table(&text, report, render.Options{}))
	require.Contains(t, text.String(), "The server's work")
	require.Regexp(t, `01 +p, v +1000 +30.0% +5.0% +35.0% +7 +12.5 +2.500`, text.String())
	require.NoError(t, render.Markdown(&page, report))
	require.Contains(t, page.String(), "## The server's work")
	require.Contains(t, page.String(), "| 01 | p, v | 1000 | 30.0% | 5.0% | 35.0% | 7 | 12.5 | 2.500 |")
}

func TestWorkOfTheServerIsLeftOutWhereLittleIsWasted(t *testing.T) {
	report := compare.Build([]compare.Run{wasting(1, 4_000, 900)})
	var text bytes.Buffer
	require.NoError(t, render.Table(&text, report, render.Options{}))
	require.NotContains(t, text.String(), "The server's work")
}
