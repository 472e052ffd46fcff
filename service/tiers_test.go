package service_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/retrylab/retrylab/service"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parseTiers(t *testing.T, text string) ([]service.Tier, error) {
	t.Helper()
	var tree any
	require.NoError(t, json.Unmarshal([]byte(text), &tree))
	return service.ParseTiers(tree, catalog.Builtin())
}

func TestParseTiers(t *testing.T) {
	tiers, err := parseTiers(t, `[{"policy": "immediate-retry", "passDeadline": true},
		{"policy": {"name": "own", "guards": [{"retry": {"maxAttempts": 2}}, {"timeout": 100}]}, "passDeadline": null}]`)
	require.NoError(t, err)
	require.Len(t, tiers, 2)
	assert.Equal(t, "immediate-retry", tiers[0].Policy.Name)
	assert.True(t, tiers[0].PassDeadline)
	assert.Equal(t, "own", tiers[1].Policy.Name)
	assert.Len(t, tiers[1].Policy.Guards, 2)
	assert.False(t, tiers[1].PassDeadline)
	tiers, err = parseTiers(t, `null`)
	assert.NoError(t, err)
	assert.Empty(t, tiers)
}

func TestParseTiersNamesEveryFault(t *testing.T) {
	_, err := parseTiers(t, `[{"policy": "nope"}, {"polcy": "jitter"}, 7, {"policy": 7, "passDeadline": "yes"},
		{"policy": {"name": "", "guards": [{"timeout": "soon"}, {"retry": {"jitter": "ful"}}]}}]`)
	for _, fault := range []string{
		`tiers[0].policy: unknown policy "nope", known are: no-retry-low-timeout, `,
		`tiers[1]: unknown key "polcy"; known are policy, passDeadline`,
		`tiers[1].policy: is missing`,
		`tiers[2]: must be an object {policy, passDeadline}`,
		`tiers[3].policy: must be a name or an object {name, guards}`,
		`tiers[3].passDeadline: "yes" is not true or false`,
		`tiers[4].policy.name: is empty`,
		`tiers[4].policy.guards[0].timeout: `,
		`tiers[4].policy.guards[1].retry.jitter: "ful" is none of `,
	} {
		assert.ErrorContains(t, err, fault)
	}
	for text, want := range map[string]string{
		`[]`:       `tiers: 0 is not in 1 … 16`,
		`"jitter"`: `tiers: must be a list such as [{policy: jitter, passDeadline: true}]`,
		`[` + strings.Repeat(`{"policy": "jitter"},`, 16) + `{"policy": "jitter"}]`: `tiers: 17 is not in 1 … 16`,
	} {
		_, err := parseTiers(t, text)
		assert.EqualError(t, err, want)
	}
}
