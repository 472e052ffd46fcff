package cli

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The table of flags has those of the command, and no other.
func TestFlagsInTheDocuments(t *testing.T) {
	page, err := os.ReadFile("../docs/scripts.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "\n## Flags of `retrylab run`\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	var told []string
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, flag := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(cells[1], -1) {
				told = append(told, flag[1])
			}
		}
	}
	parser, err := newParser(new(grammar), Streams{Out: io.Discard, Err: io.Discard})
	require.NoError(t, err)
	var have []string
	for _, command := range parser.Model.Children {
		if command.Name == "run" {
			for _, flag := range command.Flags {
				have = append(have, flag.Name)
			}
		}
	}
	slices.Sort(told)
	slices.Sort(have)
	assert.Equal(t, have, told)
}
