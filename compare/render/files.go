package render

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/google/renameio/v2/maybe"
	"github.com/retrylab/retrylab/compare"
)

// WriteFiles writes comparison.csv, .md, .json and .html into the folder, which
// must exist. All four are rendered before the first is written, and each
// replaces its predecessor whole or not at all. The error names the file.
func WriteFiles(dir string, report compare.Report) error {
	files := []struct {
		name   string
		render func(io.Writer, compare.Report) error
		data   bytes.Buffer
	}{
		{name: "comparison.csv", render: CSV},
		{name: "comparison.md", render: Markdown},
		{name: "comparison.json", render: JSON},
		{name: "comparison.html", render: HTML},
	}
	for i := range files {
		if err := files[i].render(&files[i].data, report); err != nil {
			return fmt.Errorf("rendering %s: %w", files[i].name, err)
		}
	}
	for i := range files {
		if err := maybe.WriteFile(filepath.Join(dir, files[i].name), files[i].data.Bytes(), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", files[i].name, err)
		}
	}
	return nil
}
