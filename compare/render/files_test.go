package render_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare/render"
)

func TestWriteFiles(t *testing.T) {
	dir, report := t.TempDir(), lab(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "comparison.csv"), []byte("old"), 0o600))
	require.NoError(t, render.WriteFiles(dir, report))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		got, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		require.Equal(t, text(t, renderers()[entry.Name()], report), string(got))
	}
	require.Equal(t, []string{"comparison.csv", "comparison.html", "comparison.json", "comparison.md"}, names)
}

func TestWriteFilesLeavesNothingBehindOnErrors(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "comparison.csv", "full"), 0o755)) // a folder in the way
	require.ErrorContains(t, render.WriteFiles(dir, lab(t)), "writing comparison.csv")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.ErrorIs(t, render.WriteFiles(filepath.Join(dir, "none"), lab(t)), os.ErrNotExist)
}
