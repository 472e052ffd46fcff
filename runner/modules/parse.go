package modules

import (
	"fmt"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/grafana/sobek"
	"github.com/grafana/sobek/parser"
)

// parse compiles one source. TypeScript loses its types first; a source that
// sobek cannot read is lowered to older syntax and tried again.
func (l *Loader) parse(file, src string) (*sobek.SourceTextModuleRecord, error) {
	isTS := strings.EqualFold(path.Ext(file), ".ts")
	code := src
	if isTS {
		var err error
		if code, err = transform(file, src, api.LoaderTS, api.ESNext); err != nil {
			return nil, err
		}
	}
	record, err := l.parseModule(file, code)
	if err == nil && !l.lower[file] {
		return record, nil
	}
	loader := api.LoaderJS
	if isTS {
		loader = api.LoaderTS
	}
	lowered, terr := transform(file, src, loader, api.ES2017)
	if terr != nil {
		return nil, terr
	}
	record, lerr := l.parseModule(file, lowered)
	if lerr != nil && err == nil {
		err = lerr
	}
	if lerr != nil {
		return nil, fmt.Errorf("parse %s: %w", file, err)
	}
	return record, nil
}

func (l *Loader) parseModule(file, code string) (*sobek.SourceTextModuleRecord, error) {
	// Source maps that a file only points to are not read.
	noFiles := parser.WithSourceMapLoader(func(string) ([]byte, error) { return nil, nil })
	return sobek.ParseModule(file, code, l.resolve, noFiles)
}

func transform(file, src string, loader api.Loader, target api.Target) (string, error) {
	res := api.Transform(src, api.TransformOptions{
		Sourcefile: file,
		Loader:     loader,
		Target:     target,
		Format:     api.FormatESModule,
		Platform:   api.PlatformNeutral,
		Charset:    api.CharsetUTF8,
		Sourcemap:  api.SourceMapInline,
		LogLevel:   api.LogLevelSilent,
	})
	if len(res.Errors) > 0 {
		e := res.Errors[0]
		if e.Location == nil {
			return "", fmt.Errorf("parse %s: %s", file, e.Text)
		}
		return "", fmt.Errorf("parse %s:%d:%d: %s", file, e.Location.Line, e.Location.Column+1, e.Text)
	}
	return string(res.Code), nil
}
