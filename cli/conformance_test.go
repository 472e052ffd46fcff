package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// conformanceScripts are small scripts with what each must come to in a
// comment at its top: see [specification].
const conformanceScripts = "../runner/testdata/conformance"

// TestConformance runs the scripts of the conformance suite on the built-in
// runner, and checks what each says of itself. Where the environment variable
// K6 names a k6 binary it runs them on that too, checks the same, and compares
// both results. A difference from k6 must be declared by the script, and one
// that is declared must show.
//
// Scripts find a server of their own at BASE_URL, see [conformanceServer].
func TestConformance(t *testing.T) {
	k6 := os.Getenv("K6")
	server := httptest.NewServer(conformanceServer())
	defer server.Close()
	files, err := filepath.Glob(conformanceScripts + "/*.[jt]s")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(files), 90)
	page, err := os.ReadFile("../docs/scripts.md")
	require.NoError(t, err)
	// The command as it is built for users: there are so many runs that the race
	// detector would make them take minutes.
	program := filepath.Join(t.TempDir(), "retrylab")
	out, err := exec.Command("go", "build", "-o", program, "../cmd/retrylab").CombinedOutput()
	require.NoError(t, err, "%s", out)
	var onK6, known atomic.Int64
	t.Run("scripts", func(t *testing.T) {
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				spec, err := readSpecification(file)
				require.NoError(t, err)
				if spec.K6 != nil {
					known.Add(1)
					name, _, _ := strings.Cut(filepath.Base(file), ".")
					assert.Contains(t, string(page), "`"+name+"`", "docs/scripts.md does not tell the difference")
				}
				ours := spec.run(t, server.URL, program, "run", "--quiet")
				ours.report(t, "the built-in runner", faults(&spec.Expect, ours))
				if k6 == "" || spec.NotOnK6 != "" {
					return
				}
				onK6.Add(1)
				theirs := spec.run(t, server.URL, k6, "run", "--quiet", "--no-usage-report")
				theirs.report(t, "k6", faults(spec.ofK6(), theirs))
				for _, where := range slices.Sorted(maps.Keys(spec.declared())) {
					if _, shows := faults(&spec.Expect, theirs)[where]; !shows {
						t.Errorf("the declared difference of k6 does not show: %s", where)
					}
				}
				theirs.report(t, "k6 beside the built-in runner", spec.differences(ours, theirs))
			})
		}
	})
	// make conformance prints this line last.
	t.Logf("conformance: %d scripts, %d on k6, %d known differences", len(files), onK6.Load(), known.Load())
}

// outcome is what a run came to.
type outcome struct {
	exit           int
	stdout, stderr string
	console        []string // what the script logged: level and message
	files          string   // the folder that it ran in
	summary        *exported
}

// run runs the script with a command that takes k6's flags, in a folder of its
// own.
func (s *specification) run(t *testing.T, server, name string, args ...string) *outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &outcome{files: t.TempDir()}
	args = append(args, "--summary-export", summaryFile)
	if !s.OwnStats {
		args = append(args, "--summary-trend-stats", "count,avg,min,med,max")
	}
	cmd := exec.CommandContext(ctx, name, append(append(args, s.Args...), s.script)...)
	cmd.Dir = out.files
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_COLOR=1", "BASE_URL=" + server}
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NoError(t, ctx.Err(), "%s", &stderr)
	out.exit, out.stdout, out.stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	out.console = consoleLines(out.stderr)
	out.summary, err = readExported(filepath.Join(out.files, summaryFile))
	require.NoError(t, err)
	return out
}

// report fails the test if there are faults.
func (o *outcome) report(t *testing.T, who string, faults map[string]string) {
	t.Helper()
	if len(faults) == 0 {
		return
	}
	var text strings.Builder
	for _, where := range slices.Sorted(maps.Keys(faults)) {
		fmt.Fprintf(&text, "  %s: %s\n", where, faults[where])
	}
	t.Errorf("%s:\n%sstdout:\n%s\nstderr:\n%s", who, &text, o.stdout, o.stderr)
}
