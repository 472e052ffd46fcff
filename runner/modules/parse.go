package modules

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/grafana/sobek"
	"github.com/grafana/sobek/parser"
)

// parse reads one source. TypeScript loses its types first; a source that
// sobek cannot read is lowered to older syntax and tried again.
func (l *Loader) parse(file, src string) (sobek.CyclicModuleRecord, error) {
	loader, code := api.LoaderJS, src
	if strings.EqualFold(path.Ext(file), ".ts") {
		var err error
		loader = api.LoaderTS
		if code, err = transform(file, src, loader, api.ESNext); err != nil {
			return nil, err
		}
	}
	record, err := l.record(file, code)
	if err == nil && !l.lower[file] {
		return record, nil
	}
	lowered, terr := transform(file, src, loader, api.ES2017)
	if terr != nil {
		return nil, terr
	}
	record, lerr := l.record(file, lowered)
	if lerr == nil {
		return record, nil
	}
	if err == nil {
		err = lerr
	}
	return nil, fmt.Errorf("parse %s: %w", file, err)
}

// record is the record of JavaScript that sobek can read: an ES module where
// it imports, exports or awaits at its top level, and CommonJS elsewhere.
func (l *Loader) record(file, code string) (sobek.CyclicModuleRecord, error) {
	// Source maps that a file only points to are not read.
	noFiles := parser.WithSourceMapLoader(func(string) ([]byte, error) { return nil, nil })
	module, err := parser.ParseFile(nil, file, code, 0, noFiles, parser.IsModule)
	if err == nil && (len(module.ImportEntries) > 0 || len(module.ExportEntries) > 0 || module.HasTLA) {
		return sobek.ModuleFromAST(module, l.resolve)
	}
	// The first line keeps its number, and the code may end with a comment.
	wrapped, werr := parser.ParseFile(nil, file, "(function (module, exports) {"+code+"\n})", 0, noFiles)
	if werr == nil && len(wrapped.Body) != 1 {
		werr = errors.New("unbalanced brackets")
	}
	if werr != nil {
		return nil, cmp.Or(err, werr)
	}
	program, err := sobek.CompileAST(wrapped, true)
	if err != nil {
		return nil, err
	}
	return &cjsRecord{name: file, program: program}, nil
}

func transform(file, src string, loader api.Loader, target api.Target) (string, error) {
	res := api.Transform(src, api.TransformOptions{
		Sourcefile: file,
		Loader:     loader,
		Target:     target,
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
