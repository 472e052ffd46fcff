package downstream

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/downstream/stats"
)

var update = flag.Bool("update", false, "write the tables of docs/downstream.md anew")

const page = "../docs/downstream.md"

// table is a scenario's parameters as the page shows them.
func table(info ScenarioInfo) string {
	var b strings.Builder
	b.WriteString("| parameter | default | range | what it does |\n|---|---|---|---|\n")
	for _, p := range info.Params {
		fmt.Fprintf(&b, "| `%s` | %v | %s | %s |\n", p.Name, p.Default, strings.ReplaceAll(p.Range, "|", ", "), p.Doc)
	}
	return b.String()
}

// The page's tables say what the code says. `go test ./downstream -run Page -update` writes them.
func TestThePageShowsEveryScenario(t *testing.T) {
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	text := string(data)
	for _, info := range Scenarios() {
		section := regexp.MustCompile(`(?s)(### ` + info.Name + `\n.*?)(\| parameter \|.*?\n)(\n)`)
		found := section.FindStringSubmatch(text)
		if !assert.NotNil(t, found, "%s has no section with a table of parameters", info.Name) {
			continue
		}
		assert.NotContains(t, found[1][1:], "\n### ", "%s has no table of its own", info.Name)
		if *update {
			text = strings.Replace(text, found[0], found[1]+table(info)+found[3], 1)
			continue
		}
		assert.Equal(t, table(info), found[2], "%s; go test ./downstream -run Page -update mends it", info.Name)
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(text), 0o644))
	}
	for _, name := range regexp.MustCompile(`(?m)^### ([a-z-]+)$`).FindAllStringSubmatch(text, -1) {
		assert.Contains(t, allNames, name[1], "the page describes what there is")
	}
}

func TestThePageExplainsEveryFieldAndOutcome(t *testing.T) {
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, of := range []any{stats.Snapshot{}, stats.Second{}} {
		for i := range reflect.TypeOf(of).NumField() {
			key := reflect.TypeOf(of).Field(i).Tag.Get("json")
			assert.Contains(t, string(data), "`"+key+"`")
		}
	}
	for _, o := range stats.Outcomes() {
		assert.Contains(t, string(data), "`"+string(o)+"`")
	}
	for _, route := range []string{"/call", "/stats", "/reset", "/scenario", "/healthz", "/metrics"} {
		assert.Contains(t, string(data), "`"+route+"`")
	}
}

// The code that the page on adding a fault shows is code of the project.
func TestTheExampleOfAddingAFaultIsReal(t *testing.T) {
	data, err := os.ReadFile("../docs/adding-a-fault.md")
	require.NoError(t, err)
	files, err := filepath.Glob("faults/*.go")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(source)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(data), -1)
	assert.Greater(t, len(blocks), 3)
	for _, block := range blocks {
		assert.Contains(t, all.String(), block[1])
	}
}
