//go:build !race

package yardstick

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Under the race detector a sync.Pool forgets at random: the allocations are
// those of a build without it.

// The targets for allocations hold in every run; those for times are ratios,
// which the command ratios checks.
func TestOperationsAllocateNoMoreThanTheirTarget(t *testing.T) {
	for _, c := range Cases() {
		if c.Allocs < 0 {
			continue
		}
		work := c.Ours.Workers(1)[0]
		allocs := testing.AllocsPerRun(2000, func() { work(1) })
		assert.LessOrEqual(t, allocs, float64(c.Allocs), c.Name)
	}
}
