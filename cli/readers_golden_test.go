package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/cli"
)

var update = flag.Bool("update", false, "write the golden files")

// formats are those of --format: each is tried with each reader.
func formats() []string {
	return []string{"table", "markdown", "csv", "json", "junit", "github", "html"}
}

// readers are the shapes of files, by what of compare/testdata has them.
func readers() map[string][]string {
	own := []string{
		"--map", "total_requests=iterations", "--map", "downstream_calls=res_attempts",
		"--map", "request_failed=http_req_failed", "--map", "all_attempt_latency=res_latency",
	}
	return map[string][]string{
		"summary-export":            append([]string{"k6/summary-export-default.json"}, own...),
		"handlesummary":             append([]string{"k6/handlesummary-compact.json"}, own...),
		"machine-readable":          append([]string{"k6/summary-export-machine.json"}, own...),
		"machine-readable-handled":  append([]string{"k6/handlesummary-machine.json"}, own...),
		"samples":                   {"k6/ndjson-head.ndjson", "--map", "total_requests=http_reqs", "--map", "all_attempt_latency=http_req_duration"},
		"samples-gzip":              {"service/samples.json.gz"},
		"sketches":                  {"sketches/small.json", "sketches/large.json", "--map", "total_requests=iterations", "--map", "all_attempt_latency=latency"},
		"published-names":           {"service/flat-summary.json"},
		"labels":                    {"nested=service/handlesummary.json", "machine=service/machine-export.json"},
		"plain-k6-without-a-policy": {"k6/summary-export-empty-thresholds.json"},
		"lab-with-bad-files":        {"lab"},
		"retry-storm":               {"retry-storm"},
		"two-labs":                  {"second=lab/0[56]-*", "first=lab/0[57]-*"},
	}
}

// TestReadersAndRenderers tells stdout, stderr and the exit code of each reader
// with each renderer.
func TestReadersAndRenderers(t *testing.T) {
	golden, err := filepath.Abs("testdata/readers")
	require.NoError(t, err)
	t.Chdir("../compare/testdata")
	for reader, args := range readers() {
		for _, format := range formats() {
			t.Run(reader+"/"+format, func(t *testing.T) {
				var out, log bytes.Buffer
				code := cli.Main(append([]string{"compare", "--format", format}, args...), cli.Streams{Out: &out, Err: &log})
				got := fmt.Sprintf("exit code %d\n-- stderr --\n%s-- stdout --\n%s", code, &log, &out)
				path := filepath.Join(golden, reader, format+".golden")
				if *update {
					require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
					require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
				}
				want, err := os.ReadFile(path)
				require.NoError(t, err)
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("differs from %s (-want +got), run with -update if that is meant:\n%s", path, diff)
				}
			})
		}
	}
}
