//go:build unix

package compare_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func pipe(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}
