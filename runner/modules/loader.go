package modules

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"
)

// ErrNoScript is in the chain of the error for a script that cannot be read.
var ErrNoScript = errors.New("cannot read the script")

const useK6 = "use a k6 build (see README)"

// Loader resolves, parses and compiles each source of a run once. Load is
// called once; after that a Loader is safe for concurrent use.
type Loader struct {
	read      func(path string) ([]byte, error)
	factories map[string]Factory
	log       logrus.FieldLogger

	mu      sync.Mutex
	sources map[string]*sobek.SourceTextModuleRecord
	paths   map[sobek.ModuleRecord]string
	gomods  map[string]*goRecord
	files   map[string][]byte
	users   map[*sobek.Runtime]*user
	first   *sobek.Runtime // while Load runs
	misses  []miss
	lower   map[string]bool // sources that are lowered to older syntax
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
		sources: make(map[string]*sobek.SourceTextModuleRecord),
		paths:   make(map[sobek.ModuleRecord]string),
		gomods:  make(map[string]*goRecord),
		files:   make(map[string][]byte),
		users:   make(map[*sobek.Runtime]*user),
		lower:   make(map[string]bool),
	}
}

// Attach names the virtual user that a runtime belongs to; call it before the
// runtime evaluates anything, and the returned function when it is done with.
func (l *Loader) Attach(vu VU) (detach func()) {
	rt := vu.Runtime()
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
	defer func() { l.first = nil }()
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
		if strings.Contains(err.Error(), fmt.Sprintf("%q does not provide an export named %q", m.module, m.name)) {
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

// resolve is sobek's hook: the module that a specifier means in a referrer.
func (l *Loader) resolve(referrer any, specifier string) (sobek.ModuleRecord, error) {
	from := "the script"
	dir := "/"
	if m, ok := referrer.(sobek.ModuleRecord); ok {
		l.mu.Lock()
		p, ok := l.paths[m]
		l.mu.Unlock()
		if ok {
			from, dir = p, path.Dir(p)
		}
	}
	if f, ok := l.factories[specifier]; ok {
		return l.goModule(specifier, f)
	}
	switch {
	case specifier == "k6" || strings.HasPrefix(specifier, "k6/"):
		return nil, fmt.Errorf("%s is not in the built-in runner; %s", specifier, useK6)
	case strings.HasPrefix(specifier, "file://"):
		specifier = strings.TrimPrefix(specifier, "file://")
	case strings.Contains(specifier, "://"):
		return nil, fmt.Errorf("import of %q in %s: the built-in runner fetches no remote modules; keep a local copy, or %s", specifier, from, useK6)
	case !strings.HasPrefix(specifier, "./") && !strings.HasPrefix(specifier, "../") && !strings.HasPrefix(specifier, "/"):
		return nil, fmt.Errorf("import of %q in %s: want a k6 module or a path that begins with ./, ../ or /", specifier, from)
	}
	file := specifier
	if !strings.HasPrefix(file, "/") {
		file = path.Join(dir, file)
	}
	file = path.Clean(file)
	l.mu.Lock()
	record, ok := l.sources[file]
	l.mu.Unlock()
	if ok {
		return record, nil
	}
	src, err := l.read(file)
	if err != nil {
		reason := err
		if errors.Is(err, fs.ErrNotExist) {
			reason = errors.New("no such file")
		}
		return nil, fmt.Errorf("import of %q in %s: %s: %w", specifier, from, file, reason)
	}
	return l.source(file, src)
}

func (l *Loader) goModule(name string, f Factory) (sobek.ModuleRecord, error) {
	l.mu.Lock()
	r, ok := l.gomods[name]
	if !ok {
		r = &goRecord{loader: l, name: name, factory: f}
		l.gomods[name] = r
	}
	l.mu.Unlock()
	if !ok && l.first != nil {
		// The linker asks for names before anything is evaluated.
		if _, err := r.instance(l.first); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (l *Loader) source(file string, src []byte) (*sobek.SourceTextModuleRecord, error) {
	record, err := l.parse(file, string(src))
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sources[file] = record
	l.paths[record] = file
	return record, nil
}

// ReadFile reads a file for open(), once for all virtual users. The caller
// must not change the bytes.
func (l *Loader) ReadFile(file string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b, ok := l.files[file]; ok {
		return b, nil
	}
	b, err := l.read(file)
	if err != nil {
		return nil, err
	}
	l.files[file] = b
	return b, nil
}

// Script is a linked script.
type Script struct {
	loader *Loader
	record *sobek.SourceTextModuleRecord
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
