package compare

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile bounds the bytes that are read of one file; summaries have thousands.
const maxFile = 64 << 20

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

// Read reads the runs that the paths name. A path is the folder of a lab, whose
// *.summary.json and *.run.json are read and nothing below it; a glob; or one
// file, with which the other file of its run is read too. A summary of another
// name is read as well, as a run of which only the figures are known.
//
// A file that cannot be used is a warning and the others are still read; a run
// that was interrupted is left out with a warning. Runs come in the order of
// their labs' folders, numbers, names and repetitions. If no run is left the
// error wraps [ErrNoRuns], beside the warnings that say why.
func Read(paths ...string) ([]Run, []Warning, error) {
	r := reader{pairs: map[string]*pair{}}
	for _, path := range paths {
		r.add(path)
	}
	runs := make([]Run, 0, len(r.pairs))
	for _, p := range r.pairs {
		if run, ok := r.read(*p); ok {
			runs = append(runs, run)
		}
	}
	nameLabs(runs)
	slices.SortFunc(runs, order)
	slices.SortFunc(r.warnings, func(a, b Warning) int {
		return strings.Compare(a.String(), b.String())
	})
	if len(runs) == 0 {
		return nil, r.warnings, fmt.Errorf("reading %s: %w", strings.Join(paths, ", "), ErrNoRuns)
	}
	return runs, r.warnings, nil
}

// pair is the two files of a run; either may be missing.
type pair struct{ summary, run string }

type reader struct {
	pairs    map[string]*pair // by stem
	warnings []Warning
}

func (r *reader) warn(file, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{File: filepath.ToSlash(file), Reason: fmt.Sprintf(format, args...)})
}

func (r *reader) add(path string) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		r.addDir(path)
		return
	}
	if err == nil {
		r.addFile(path)
		return
	}
	matches, globErr := filepath.Glob(path)
	switch {
	case globErr != nil:
		r.warn(path, "not a file and not a pattern: %v", globErr)
	case len(matches) == 0 && strings.ContainsAny(path, "*?["):
		r.warn(path, "the pattern matches no file")
	case len(matches) == 0:
		r.warn(path, "%v", reason(err))
	}
	for _, match := range matches {
		r.addMatch(match)
	}
}

// addMatch adds what a pattern has found: what a lab writes beside its runs
// was not meant.
func (r *reader) addMatch(path string) {
	info, err := os.Stat(path)
	switch base := filepath.Base(path); {
	case err == nil && info.IsDir():
		r.addDir(path)
	case strings.HasPrefix(base, "comparison.") || base == "lab.json":
	default:
		r.addFile(path)
	}
}

func (r *reader) addDir(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.warn(dir, "%v", reason(err))
		return
	}
	found := false
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || entry.IsDir() {
			continue
		}
		if strings.HasSuffix(name, summarySuffix) || strings.HasSuffix(name, runSuffix) {
			r.addFile(filepath.Join(dir, name))
			found = true
		}
	}
	if !found {
		r.warn(dir, "no *%s in this folder", summarySuffix)
	}
}

// addFile notes a file and the other one of its run, if that is there.
func (r *reader) addFile(path string) {
	path = filepath.Clean(path)
	key := stem(path)
	p := r.pairs[key]
	if p == nil {
		p = &pair{}
		r.pairs[key] = p
	}
	other := ""
	if strings.HasSuffix(path, runSuffix) {
		p.run, other = path, key+summarySuffix
		if _, err := os.Stat(other); err == nil {
			p.summary = other
		}
		return
	}
	p.summary, other = path, key+runSuffix
	if _, err := os.Stat(other); err == nil {
		p.run = other
	}
}

func (r *reader) read(p pair) (Run, bool) {
	file, haveFile := runFile{}, false
	if p.run != "" {
		data, err := readFile(p.run)
		if err == nil {
			file, err = parseRun(data)
		}
		if haveFile = err == nil; err != nil {
			rest := "only its summary is reported"
			if p.summary == "" {
				rest = "left out"
			}
			r.warn(p.run, "%v: %s", reason(err), rest)
		}
	}
	switch {
	case haveFile && file.Interrupted:
		r.warn(p.run, "the run was interrupted: left out")
		return Run{}, false
	case p.summary == "" && haveFile:
		r.warn(p.run, "the run has no summary (exit code %d): left out", file.ExitCode)
		return Run{}, false
	case p.summary == "":
		return Run{}, false
	}
	data, err := readFile(p.summary)
	if err != nil {
		r.warn(p.summary, "%v: left out", reason(err))
		return Run{}, false
	}
	metrics, err := parseSummary(data)
	if err != nil {
		r.warn(p.summary, "%v: left out", err)
		return Run{}, false
	}
	if _, ok := metrics.value("resilience_requests", Counter, "count"); !ok {
		r.warn(p.summary, "it holds no resilience_requests: its script ran no policy, or no request ended; its figures are missing")
	}
	return newRun(p, metrics, file, haveFile), true
}

func newRun(p pair, metrics Metrics, file runFile, haveFile bool) Run {
	run := Run{File: p.summary, Metrics: metrics, Lab: filepath.Base(filepath.Dir(p.summary))}
	run.Number, run.Name, run.Repetition = fromName(p.summary)
	run.Policy.Name, run.Scenario.Name = split(run.Name)
	if !haveFile {
		return run
	}
	run.Number, run.Name, run.Repetition = file.Number, file.Name, max(1, file.Repetition)
	run.Variant = file.Variant
	run.Policy, run.Scenario = file.Policy, file.Scenario.public()
	run.Setup, run.Downstream, run.Tiers = file.setup(), numbers(file.Downstream), file.Tiers
	if file.Lab != "" {
		run.Lab = file.Lab
	}
	return run
}

// nameLabs gives runs without a run.json the lab of the others in their folder.
func nameLabs(runs []Run) {
	labs := map[string]string{}
	for _, run := range runs {
		if run.Setup != nil {
			labs[filepath.Dir(run.File)] = run.Lab
		}
	}
	for i, run := range runs {
		if lab := labs[filepath.Dir(run.File)]; lab != "" && run.Setup == nil {
			runs[i].Lab = lab
		}
	}
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("longer than %d bytes", maxFile)
	}
	return data, err
}

// reason is the error without the path, which the warning names already.
func reason(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
