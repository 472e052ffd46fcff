package k6_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/retrylab/retrylab/runner/internal/scripttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGroupAndCheckAreSystemTags(t *testing.T) {
	const script = `
		import { check, group } from 'k6';
		export const options = { thresholds: { 'checks{group:::a::b}': [], 'checks{check:c}': [], 'group_duration{group:::a}': [], 'checks{scenario:default}': [] }, %s };
		export default function () { group('a', () => group('b', () => check(1, { c: (v) => v === 1 }))); }`
	for systemTags, want := range map[string][]float64{
		"":                         {1, 1, 1, 1},
		"systemTags: ['check']":    {0, 1, 0, 0},
		"systemTags: ['group']":    {1, 0, 1, 0},
		"systemTags: ['scenario']": {0, 0, 0, 1},
		"systemTags: []":           {0, 0, 0, 0},
	} {
		out := scripttest.Run(t, fmt.Sprintf(script, systemTags))
		require.NoError(t, out.Err)
		var got []float64
		for _, name := range []string{"checks{group:::a::b}", "checks{check:c}", "group_duration{group:::a}", "checks{scenario:default}"} {
			for _, m := range out.Result.Summary.Metrics {
				if m.Name == name {
					n := m.Get("passes")
					if m.Name == "group_duration{group:::a}" {
						n = min(1, m.Get("max")*1e9)
					}
					got = append(got, n)
				}
			}
		}
		assert.Equal(t, want, got, systemTags)
	}
}
