// Package scripttest runs scripts in tests.
package scripttest

import (
	"bytes"
	"context"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/retrylab/retrylab/runner"
)

// Outcome is what came of a run.
type Outcome struct {
	Result *runner.Result
	Err    error
	Stdout string
	// Console is what the script logged, Log what the runner did.
	Console, Log []string
}

// Files makes a file system of a script's files.
func Files(files map[string]string) fstest.MapFS {
	out := make(fstest.MapFS, len(files))
	for name, src := range files {
		out[name] = &fstest.MapFile{Data: []byte(src)}
	}
	return out
}

// WithFiles adds files beside main.js.
func WithFiles(files map[string]string) func(*runner.Config) {
	return func(c *runner.Config) { maps.Copy(c.FS.(fstest.MapFS), Files(files)) }
}

// Run runs the source as main.js, with the configuration changed by adjust.
func Run(t testing.TB, source string, adjust ...func(*runner.Config)) Outcome {
	t.Helper()
	return RunContext(context.Background(), t, source, adjust...)
}

// RunContext is Run with a context.
func RunContext(ctx context.Context, t testing.TB, source string, adjust ...func(*runner.Config)) Outcome {
	t.Helper()
	log, hook := test.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	var stdout bytes.Buffer
	cfg := runner.Config{
		Script: "main.js", FS: Files(map[string]string{"main.js": source}),
		Stdout: &stdout, Stderr: &stdout, Logger: log, NoSummary: true,
	}
	for _, f := range adjust {
		f(&cfg)
	}
	res, err := runner.Run(ctx, cfg)
	out := Outcome{Result: res, Err: err, Stdout: stdout.String()}
	for _, e := range hook.AllEntries() {
		if e.Data["source"] == "console" {
			out.Console = append(out.Console, e.Message)
		} else {
			out.Log = append(out.Log, e.Message)
		}
	}
	return out
}
