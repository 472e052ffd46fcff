package runner

import (
	"errors"
	"fmt"
	"io"
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

// newSource finds the script. The name - is one that comes from stdin; what it
// imports and opens is relative to the working directory.
func newSource(script string, fsys fs.FS, stdin io.Reader) (source, error) {
	if script == "" {
		return source{}, errors.New("no script was named")
	}
	if script == "-" && stdin != nil {
		text, err := io.ReadAll(stdin)
		if err != nil {
			return source{}, fmt.Errorf("read the script from stdin: %w", err)
		}
		src, err := newSource("stdin.js", fsys, nil)
		files, name := src.read, src.script
		src.read = func(p string) ([]byte, error) {
			if p == name {
				return text, nil
			}
			return files(p)
		}
		return src, err
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
