package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the documents tell a reader to type must exist, and so must the pages
// they link to.
func TestCommandsAndLinksInTheDocuments(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(root, "*.md"))
	require.NoError(t, err)
	more, err := filepath.Glob(filepath.Join(root, "[drx]*", "*.md")) // deploy, docs, results, xk6-resilience
	require.NoError(t, err)
	commands, links := 0, 0
	for _, page := range append(pages, more...) {
		data, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, line := range codeLines(string(data)) {
			words := shellWords(line)
			switch {
			case len(words) == 0:
			case words[0] == "make":
				commands++
				for _, target := range words[1:] {
					assert.Regexp(t, `(?m)^`+regexp.QuoteMeta(target)+`:`, string(makefile), "%s: %s", page, line)
				}
			case strings.TrimPrefix(words[0], "./bin/") == "retrylab":
				commands++
				parser, err := newParser(new(grammar), Streams{Out: io.Discard, Err: io.Discard})
				require.NoError(t, err)
				_, err = parser.Parse(words[1:])
				assert.NoError(t, err, "%s: %s", page, line)
			}
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`).FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			links++
			_, err := os.Stat(filepath.Join(filepath.Dir(page), link[1]))
			assert.NoError(t, err, "%s links to %s", page, link[1])
		}
	}
	assert.Greater(t, commands, 10)
	assert.Greater(t, links, 5)
}

// shellWords parts a command as a shell does: at blanks outside of quotes, up to a
// remark. Every variable is 1.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	quote, inside := rune(0), false
	end := func() {
		if inside {
			words = append(words, os.Expand(word.String(), func(string) string { return "1" }))
		}
		word.Reset()
		inside = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inside = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			end()
		case quote == 0 && r == '#' && !inside:
			return words
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	end()
	return words
}

// codeLines are the lines of a page that are shell commands to be typed.
func codeLines(page string) []string {
	var lines []string
	fence := ""
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```") && fence == "":
			fence = line
		case strings.HasPrefix(line, "```"):
			fence = ""
		case fence == "```sh", fence == "" && strings.HasPrefix(line, "    "):
			lines = append(lines, strings.TrimSpace(line))
		case fence == "```yaml" && strings.HasPrefix(strings.TrimLeft(line, "- "), "retrylab "):
			command, _, _ := strings.Cut(strings.TrimLeft(line, "- "), " || ") // what a CI job makes of its exit code
			lines = append(lines, command)
		}
	}
	return lines
}

// The examples of the long help must be ones that parse.
func TestExamplesInTheHelp(t *testing.T) {
	examples := 0
	for _, help := range []string{runCmd{}.Help(), labCmd{}.Help(), downstreamCmd{}.Help(), compareCmd{}.Help(), diffCmd{}.Help(), policyCmd{}.Help(), serveCmd{}.Help()} {
		for line := range strings.Lines(help) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "retrylab ")
			if !ok {
				continue
			}
			examples++
			command, _, _ = strings.Cut(command, "   ") // what follows is a remark
			parser, err := newParser(new(grammar), Streams{Out: io.Discard, Err: io.Discard})
			require.NoError(t, err)
			_, err = parser.Parse(shellWords(command))
			assert.NoError(t, err, line)
		}
	}
	assert.Greater(t, examples, 8)
}

func TestTheMakefileListsItsTargets(t *testing.T) {
	make, err := exec.LookPath("make")
	require.NoError(t, err)
	cmd := exec.Command(make, "help")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, target := range []string{"help", "build", "test", "race", "lint", "fuzz", "load", "bench", "bench-runner", "bench-compare", "conformance", "types", "k6", "lab", "check", "clean"} {
		assert.Contains(t, string(out), "make "+target+" ")
	}
}
