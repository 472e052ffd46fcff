package cli_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The extension's examples say by their thresholds what is to be seen: they
// hold in the built-in runner as in k6.
func TestExamplesOfTheExtensionRun(t *testing.T) {
	examples, err := filepath.Glob("../xk6-resilience/examples/*.js")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(examples), 9)
	for _, script := range append(examples, "../xk6-resilience/smoke.test.js") {
		t.Run(filepath.Base(script), func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command("retrylab", "run", "--quiet", script).CombinedOutput()
			assert.NoError(t, err, string(out))
		})
	}
}
