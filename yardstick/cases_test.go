package yardstick

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A case that measures refusals measures something else than it says.
func TestEveryOperationOfEveryCaseSucceeds(t *testing.T) {
	for _, c := range Cases() {
		for _, side := range []Side{c.Ours, c.Theirs} {
			require.NoError(t, Run(side.Workers(2), 500), "%s against %s", c.Name, c.Library)
		}
	}
}

func TestRunTellsOfOperationsThatFail(t *testing.T) {
	succeed := func(n int) int { return n }
	assert.NoError(t, Run([]Worker{succeed, succeed}, 10))
	assert.ErrorContains(t, Run([]Worker{succeed, func(n int) int { return n - 1 }}, 10), "goroutine 2: 9 of 10 operations succeeded")
}

func TestSpread(t *testing.T) {
	assert.Equal(t, Spread{Median: 2, Min: 1, Max: 9}, spread([]float64{9, 1, 2}))
	assert.Equal(t, Spread{Median: 3, Min: 1, Max: 9}, spread([]float64{9, 4, 1, 2}))
}

func TestMissedNamesWhatIsAboveItsTarget(t *testing.T) {
	c := Comparison{Case: Case{Name: "x", Library: "lib", Most: 0.5, Allocs: 0}, Goroutines: 2}
	c.Ratio.Median, c.Ours.Allocs = 0.5, 0.01
	assert.Empty(t, c.Missed())
	c.Ratio.Median, c.Ours.Allocs = 0.51, 1
	assert.Equal(t, []string{
		"x, 2 goroutines: 0.51 of the time of lib, wanted at most 0.50",
		"x, 2 goroutines: 1.00 allocations, wanted at most 0",
	}, c.Missed())
	c.Case.Most, c.Case.Allocs = 0, -1
	assert.Empty(t, c.Missed(), "no target, nothing missed")
}
