package modules

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
)

// ErrNoScript is in the chain of the error for a script that cannot be read.
var ErrNoScript = errors.New("cannot read the script")

const useK6 = "use a k6 build (see README)"

// Loader resolves, parses and compiles each source of a run once. Until Lock it
// is used by the first virtual user alone; after that it is safe for
// concurrent use and gives only what it has given before.
type Loader struct {
	read      func(path string) ([]byte, error)
	factories map[string]Factory
	log       logrus.FieldLogger

	mu      sync.Mutex
	sources map[string]source
	paths   map[sobek.ModuleRecord]string
	gomods  map[string]*goRecord
	files   map[string]file
	users   map[*sobek.Runtime]*user
	first   *sobek.Runtime // from Load to Lock
	locked  bool
	misses  []miss
	lower   map[string]bool // sources that are lowered to older syntax
}

// file is what came of reading a file.
type file struct {
	data []byte
	err  error
}

// source is what came of parsing a source.
type source struct {
	record sobek.CyclicModuleRecord
	err    error
}

type user struct {
	vu        VU
	instances map[string]*goInstance
}

// NewLoader returns a loader that reads files by slash-separated absolute
// path and knows these Go modules, `k6/http` for example.
func NewLoader(read func(path string) ([]byte, error), factories map[string]Factory, log logrus.FieldLogger) *Loader {
	return &Loader{
		read: read, factories: factories, log: log,
		sources: make(map[string]source),
		paths:   make(map[sobek.ModuleRecord]string),
		gomods:  make(map[string]*goRecord),
		files:   make(map[string]file),
		users:   make(map[*sobek.Runtime]*user),
		lower:   make(map[string]bool),
	}
}

// Attach names the virtual user that a runtime belongs to, and gives the
// runtime import() and import.meta.resolve; call it before the runtime evaluates
// anything, and the returned function when it is done with.
func (l *Loader) Attach(vu VU) (detach func()) {
	rt := vu.Runtime()
	l.installImports(vu)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users[rt] = &user{vu: vu, instances: make(map[string]*goInstance)}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.users, rt)
	}
}

func (l *Loader) user(rt *sobek.Runtime) *user {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.users[rt]
}

// Load parses, links and compiles the script and everything it imports. Go
// modules get their first instance here, in the runtime of vu.
func (l *Loader) Load(script string, vu VU) (*Script, error) {
	src, err := l.read(script)
	if err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrNoScript, script, err)
	}
	l.first = vu.Runtime()
	for {
		record, err := l.source(script, src)
		if err != nil {
			return nil, err
		}
		if err = record.Link(); err == nil {
			return &Script{loader: l, record: record, path: script}, nil
		}
		if !l.lowerNext(err) {
			return nil, fmt.Errorf("link %q: %w", script, l.explain(err))
		}
	}
}

// lowerNext prepares another try for syntax that sobek parses but does not
// compile: the source that has it is lowered next time. It says whether that
// is of any use.
func (l *Loader) lowerNext(err error) bool {
	var syntax *sobek.CompilerSyntaxError
	if !errors.As(err, &syntax) || syntax.File == nil || l.lower[syntax.File.Name()] {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lower[syntax.File.Name()] = true
	clear(l.sources) // a record is compiled once, so all are made anew
	clear(l.paths)
	return true
}

// explain is an error in the runner's words where an import that a Go module
// does not have is behind it.
func (l *Loader) explain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.misses {
		// A published library is asked for with its version.
		if text := err.Error(); strings.Contains(text, `"`+m.module) && strings.Contains(text, fmt.Sprintf("does not provide an export named %q", m.name)) {
			return fmt.Errorf("%s of %s is not in the built-in runner; %s", m.name, m.module, useK6)
		}
	}
	return err
}

// miss is an import that a Go module does not have.
type miss struct{ module, name string }

// missed notes an import that a Go module does not have.
func (l *Loader) missed(module, name string) {
	if l.first == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.misses = append(l.misses, miss{module, name})
}

// Lock ends the time in which modules and files are found: what the first
// virtual user's init code did not ask for cannot be had any more.
func (l *Loader) Lock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.locked, l.first = true, nil
}

// errLocked says that a module or a file comes too late.
var errLocked = errors.New("the first run of the init code (__VU is 0) did not ask for it, so that it cannot be had now")

// resolve is sobek's hook: the module that a specifier means in a referrer.
func (l *Loader) resolve(referrer any, specifier string) (sobek.ModuleRecord, error) {
	return l.find(l.pathOf(referrer), specifier)
}

// pathOf is the file of a module; "" for what is none.
func (l *Loader) pathOf(referrer any) string {
	m, ok := referrer.(sobek.ModuleRecord)
	if !ok {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paths[m]
}

// find is the module that a specifier means in the file from.
func (l *Loader) find(from, specifier string) (sobek.CyclicModuleRecord, error) {
	if key := libraryKey(specifier); l.factories[key] != nil {
		return l.goModule(key, l.factories[key])
	}
	name, err := resolvePath(from, specifier)
	if err != nil {
		return nil, fmt.Errorf("import of %q in %s: %w", specifier, cmp.Or(from, "the script"), err)
	}
	l.mu.Lock()
	known, ok := l.sources[name]
	locked := l.locked
	l.mu.Unlock()
	if ok {
		return known.record, known.err
	}
	src, ok := librarySource(name)
	if !ok {
		src, err = l.ReadFile(name)
	}
	if err == nil && locked {
		err = errLocked
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("no such file")
		}
		return nil, fmt.Errorf("import of %q in %s: %s: %w", specifier, cmp.Or(from, "the script"), name, err)
	}
	return l.source(name, src)
}

func (l *Loader) goModule(name string, f Factory) (*goRecord, error) {
	l.mu.Lock()
	r, ok := l.gomods[name]
	first := l.first
	if !ok && l.locked {
		l.mu.Unlock()
		return nil, fmt.Errorf("import of %q: %w", name, errLocked)
	}
	if !ok {
		r = &goRecord{loader: l, name: name, factory: f}
		l.gomods[name] = r
	}
	l.mu.Unlock()
	if !ok && first != nil {
		// The linker asks for names before anything is evaluated.
		if _, err := r.instance(first); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (l *Loader) source(name string, src []byte) (sobek.CyclicModuleRecord, error) {
	record, err := l.parse(name, string(src))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sources[name] = source{record, err}
	if err == nil {
		l.paths[record] = name
	}
	return record, err
}

// ReadFile reads a file, once for all virtual users. The caller must not change
// the bytes.
func (l *Loader) ReadFile(name string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.files[name]
	if !ok {
		if l.locked {
			return nil, errLocked
		}
		f.data, f.err = l.read(name)
		l.files[name] = f
	}
	return f.data, f.err
}

// Script is a linked script.
type Script struct {
	loader *Loader
	record sobek.CyclicModuleRecord
	path   string
}

// Path is the script's absolute path.
func (s *Script) Path() string { return s.path }

// Evaluate runs the init code in a runtime whose virtual user is attached. The
// promise may still be pending where the script awaits at its top level.
func (s *Script) Evaluate(rt *sobek.Runtime) *sobek.Promise {
	return rt.CyclicModuleRecordEvaluate(s.record, s.loader.resolve)
}

// Explain is an error of the init code in the runner's words, where the runner
// itself is the reason: an import that it does not have.
func (s *Script) Explain(err error) error { return s.loader.explain(err) }

// Exports is the object of the script's exports in a runtime that evaluated it.
func (s *Script) Exports(rt *sobek.Runtime) *sobek.Object {
	return rt.NamespaceObjectFor(s.record)
}
