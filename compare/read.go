package compare

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNoRuns is the error of [Read] when there is no run to report.
var ErrNoRuns = errors.New("no runs")

// Warning is a file that could not be used, or not wholly.
type Warning struct {
	// File is the file's path, as given or found.
	File string `json:"file"`
	// Reason says what is wrong with it and what became of its run.
	Reason string `json:"reason"`
}

// String returns the file and the reason in one line.
func (w Warning) String() string { return w.File + ": " + w.Reason }

// Reader reads runs. The zero Reader is ready. It may be used by several
// goroutines at once, but for Stdin.
type Reader struct {
	// Names tells which metrics of a script of the user's own stand for which
	// figures of the published experiment, as "downstream_calls": "my_calls". A
	// name given here goes before any other; [Targets] lists the figures.
	Names map[string]string
	// Stdin is what the path "-" reads; nil for none.
	Stdin io.Reader
}

// Read is Read of the zero [Reader].
func Read(paths ...string) ([]Run, []Warning, error) { return Reader{}.Read(paths...) }

// Read reads the runs that the paths name. A path is one of:
//
//   - the folder of a lab, whose *.summary.json, *.run.json and *-app-metrics.json
//     are read and nothing below it; of a folder without any of these, every
//     *.json and *.ndjson, compressed ones too
//   - a glob
//   - one file, with which the other files of its run are read too
//   - "-", the standard input
//   - label=path: the label names the lab, and the runs of files whose names tell
//     no scenario and which have no run.json; several of one label are repetitions
//
// Every shape of summary is read, and told by the content; see [Shape]. Of a run
// without a run.json only the figures are known, and what its name says.
//
// A file that cannot be used is a warning and the others are still read; a run
// that was interrupted is left out with a warning. Runs come in the order of
// their numbers; those of one number or of none in the order of the paths, names
// and labs as these are met first, and then of repetitions. If no run is left the
// error wraps [ErrNoRuns], beside the warnings that say why; an error about Names
// is one about the figures that there are, and nothing is read.
func (r Reader) Read(paths ...string) ([]Run, []Warning, error) {
	if err := checkNames(r.Names); err != nil {
		return nil, nil, err
	}
	f := finder{known: map[string]*pair{}}
	for _, path := range paths {
		f.add(path)
	}
	in := reading{Reader: r, used: map[string]bool{}, warnings: f.warnings, repetitions: map[string]int{}}
	runs := make([]Run, 0, len(f.pairs))
	for _, p := range f.pairs {
		if run, ok := in.read(*p); ok {
			runs = append(runs, run)
		}
	}
	in.unused(len(runs))
	nameLabs(runs)
	runs = in.once(runs)
	for i := range runs {
		runs[i].given = i
	}
	sortRuns(runs)
	slices.SortFunc(in.warnings, func(a, b Warning) int {
		return strings.Compare(a.String(), b.String())
	})
	if len(runs) == 0 {
		return nil, in.warnings, fmt.Errorf("reading %s: %w", strings.Join(paths, ", "), ErrNoRuns)
	}
	return runs, in.warnings, nil
}

// once leaves out the runs of a lab that were read from another file already, such
// as a copy of its folder: they are no repetitions.
func (r *reading) once(runs []Run) []Run {
	type identity struct {
		lab, name  string
		repetition int
		began      time.Time
	}
	seen := map[identity]string{}
	return slices.DeleteFunc(runs, func(run Run) bool {
		if run.Setup == nil || run.Setup.StartedAt.IsZero() {
			return false
		}
		id := identity{run.Lab, run.Name, run.Repetition, run.Setup.StartedAt.UTC()}
		other, twice := seen[id]
		if twice {
			r.warn(run.File, "it is the same run as %s: left out", filepath.ToSlash(other))
			return true
		}
		seen[id] = run.File
		return false
	})
}

// reading is one call of Read.
type reading struct {
	Reader
	used        map[string]bool // the mapped figures that some file has
	repetitions map[string]int  // by label
	warnings    []Warning
}

func (f *finder) warn(file, format string, args ...any) {
	f.warnings = append(f.warnings, warning(file, format, args...))
}

func (r *reading) warn(file, format string, args ...any) {
	r.warnings = append(r.warnings, warning(file, format, args...))
}

func warning(file, format string, args ...any) Warning {
	return Warning{File: filepath.ToSlash(file), Reason: fmt.Sprintf(format, args...)}
}

// unused warns of mapped metrics that no file has.
func (r *reading) unused(runs int) {
	for _, name := range slices.Sorted(maps.Keys(r.Names)) {
		if !r.used[name] && runs > 0 {
			r.warn("--map "+name+"="+r.Names[name], "no summary has a metric of this name")
		}
	}
}

func (r *reading) read(p pair) (Run, bool) {
	file, haveFile := runFile{}, false
	if p.run != "" {
		var err error
		file, err = readRunFile(p.run)
		if haveFile = err == nil; err != nil {
			rest := "only its summary is reported"
			if p.summary == "" {
				rest = "left out"
			}
			r.warn(p.run, "%v: %s", reason(err), rest)
		}
	}
	if haveFile && file.Interrupted {
		r.warn(p.run, "the run was interrupted: left out")
		return Run{}, false
	}
	if p.summary == "" && p.snapshot != "" {
		p.summary, p.snapshot = p.snapshot, ""
	}
	if p.summary == "" {
		if haveFile {
			r.warn(p.run, "the run has no summary (exit code %d): left out", file.ExitCode)
		}
		return Run{}, false
	}
	c, err := r.content(p.summary)
	if err == nil {
		err = c.metrics.adopt(r.Names, r.used)
	}
	if err != nil {
		r.warn(p.summary, "%v: left out", reason(err))
		return Run{}, false
	}
	r.join(c.metrics, p.snapshot)
	if _, ok := c.metrics.value(requests, Counter, "count"); !ok && haveFile {
		r.warn(p.summary, "it holds no resilience_requests: its script ran no policy, or no request ended; its figures are missing")
	}
	run := newRun(p, c, file, haveFile)
	if p.label != "" {
		r.name(&run, p)
	}
	return run, true
}

// join adds to the metrics what only the snapshot of the run's service has.
func (r *reading) join(metrics Metrics, path string) {
	if path == "" {
		return
	}
	c, err := r.content(path)
	if err == nil && c.shape != Snapshot {
		err = fmt.Errorf("it has the shape of %s: %s belongs here", c.shape, Snapshot)
	}
	if err != nil {
		r.warn(path, "%v: only the summary is reported", reason(err))
		return
	}
	for name, metric := range c.metrics {
		if _, there := metrics[name]; !there {
			metrics[name] = metric
		}
	}
}

// name names a run that its label stands for.
func (r *reading) name(run *Run, p pair) {
	run.Lab = p.label
	if run.Setup == nil && run.Scenario.Name == "" && !p.found {
		r.repetitions[p.label]++
		run.Number, run.Name, run.Policy.Name, run.Variant, run.Repetition = 0, p.label, p.label, "", r.repetitions[p.label]
	}
}

func newRun(p pair, c content, file runFile, haveFile bool) Run {
	run := Run{File: p.summary, Shape: c.shape, Metrics: c.metrics, Lab: filepath.Dir(p.summary)}
	if p.summary == stdin {
		run.Lab, run.Name, run.Policy.Name, run.Repetition = stdin, stdin, stdin, 1
		return run
	}
	run.Number, run.Name, run.Repetition = fromName(p.summary)
	run.Policy.Name, run.Scenario.Name = split(run.Name)
	if p.key == p.summary { // another file has the name without the ending, if it has one
		run.Variant = strings.TrimPrefix(p.summary, stem(p.summary))
		run.Name += run.Variant
	}
	if !haveFile {
		return run
	}
	run.Number, run.Name, run.Repetition = file.Number, file.Name, max(1, file.Repetition)
	run.Variant = file.Variant
	run.Policy, run.Scenario = file.Policy, file.Scenario.public()
	run.Setup, run.Downstream, run.Tiers = file.setup(), numbers(file.Downstream), file.Tiers
	run.Series = seriesOf(file.Downstream["series"])
	if file.Lab != "" {
		run.Lab = file.Lab
	}
	return run
}

// nameLabs gives runs that have the folder for a lab the lab of the others in it,
// or else the folder's name, or its path where two folders have one name.
func nameLabs(runs []Run) {
	labs, paths := map[string]string{}, map[string]string{}
	twice := map[string]bool{}
	for _, run := range runs {
		dir := filepath.Dir(run.File)
		switch base := filepath.Base(dir); {
		case run.Setup != nil:
			labs[dir] = run.Lab
		case run.Lab == dir:
			twice[base] = twice[base] || paths[base] != "" && paths[base] != dir
			paths[base] = dir
		}
	}
	for i, run := range runs {
		dir := filepath.Dir(run.File)
		switch lab := labs[dir]; {
		case run.Lab != dir:
		case lab != "" && lab != dir:
			runs[i].Lab = lab
		case twice[filepath.Base(dir)]:
			runs[i].Lab = filepath.ToSlash(dir)
		default:
			runs[i].Lab = filepath.Base(dir)
		}
	}
}

// content reads a file of any shape.
func (r Reader) content(path string) (content, error) {
	if path == stdin {
		if r.Stdin == nil {
			return content{}, errors.New("there is no standard input")
		}
		return parse(r.Stdin)
	}
	var c content
	err := steady(path, func(in io.Reader) (err error) {
		c, err = parse(in)
		return err
	})
	return c, err
}

func readRunFile(path string) (runFile, error) {
	var file runFile
	err := steady(path, func(in io.Reader) error {
		data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
		if err == nil && len(data) > maxFile {
			err = fmt.Errorf("longer than %d bytes", maxFile)
		}
		if err == nil {
			file, err = parseRun(data)
		}
		return err
	})
	return file, err
}

// steady reads a file that must not change meanwhile: half of an old summary and
// half of a new one may be a summary too.
func steady(path string, read func(io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return err
	}
	err = read(f)
	after, failed := f.Stat()
	if failed == nil && before.Mode().IsRegular() && (before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime())) {
		return errors.New("it changed while it was read")
	}
	return err
}

// reason is the error without the path, which the warning names already.
func reason(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
