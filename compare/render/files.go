package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
		if err := replace(filepath.Join(dir, files[i].name), files[i].data.Bytes()); err != nil {
			return fmt.Errorf("writing %s: %w", files[i].name, err)
		}
	}
	return nil
}

// replace writes the data beside the path and renames it into place.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
