package runner

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/runner/executor"
)

// columns are the names in code in the first column of the tables under a
// heading of docs/scripts.md, and the names in their second.
func columns(t *testing.T, heading string) (first, second []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/scripts.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "\n## "+heading+"\n")
	require.True(t, ok, heading)
	end := regexp.MustCompile(`\n##+ `).FindStringIndex(section)
	require.NotNil(t, end)
	code := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(section[:end[0]]) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for i, column := range []*[]string{&first, &second} {
			for _, found := range code.FindAllStringSubmatch(cells[i+1], -1) {
				*column = append(*column, found[1])
			}
		}
	}
	slices.Sort(first)
	slices.Sort(second)
	return first, second
}

func TestOptionsInTheDocuments(t *testing.T) {
	var keys, envs []string
	for _, o := range options() {
		keys = append(keys, o.key)
		if o.env != "" {
			envs = append(envs, o.env)
		}
	}
	for key, env := range lacking() {
		keys, envs = append(keys, key), append(envs, env)
	}
	slices.Sort(keys)
	slices.Sort(envs)
	first, second := columns(t, "Options")
	assert.Equal(t, keys, first)
	assert.Equal(t, envs, second)
}

func TestModulesInTheDocuments(t *testing.T) {
	builtin, stop := builtinModules(nil)
	require.NoError(t, stop())
	want := slices.Sorted(maps.Keys(builtin))
	want = append(want, "https://jslib.k6.io/k6-utils")
	slices.Sort(want)
	first, _ := columns(t, "Modules")
	assert.Equal(t, want, first)
}

func TestExecutorsInTheDocuments(t *testing.T) {
	first, _ := columns(t, "Executors")
	assert.ElementsMatch(t, append(executor.Executors(), "externally-controlled"), first)
}
