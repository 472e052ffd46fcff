package runner

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// source reads a run's files by slash-separated absolute path.
type source struct {
	script string
	read   func(path string) ([]byte, error)
}

func newSource(script string, fsys fs.FS) (source, error) {
	if script == "" {
		return source{}, fmt.Errorf("no script was named")
	}
	if fsys != nil {
		return source{
			script: path.Join("/", filepath.ToSlash(script)),
			read: func(p string) ([]byte, error) {
				return fs.ReadFile(fsys, strings.TrimPrefix(p, "/"))
			},
		}, nil
	}
	abs, err := filepath.Abs(script)
	if err != nil {
		return source{}, fmt.Errorf("find the script %q: %w", script, err)
	}
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") { // a drive of Windows
		slashed = "/" + slashed
	}
	return source{
		script: slashed,
		read: func(p string) ([]byte, error) {
			if filepath.VolumeName(strings.TrimPrefix(p, "/")) != "" {
				p = strings.TrimPrefix(p, "/")
			}
			return os.ReadFile(filepath.FromSlash(p))
		},
	}, nil
}
