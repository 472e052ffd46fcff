package compare

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// finder turns paths into the files of runs.
type finder struct {
	pairs    []*pair
	known    map[string]*pair // by label and key
	warnings []Warning
}

// pair is the files of a run. Each may be missing. The key is their stem, or the
// path of a file that another one of its kind keeps out of the pair of its stem.
type pair struct {
	label, key             string
	summary, run, snapshot string
	// found says that a folder or a pattern found it, and not its name alone.
	found bool
}

// stdin is the path of the standard input.
const stdin = "-"

// add finds what a path names: a file, a folder, a pattern, or one of these
// with a label before it.
func (f *finder) add(path string) {
	info, err := os.Stat(path)
	label := ""
	if before, after, ok := strings.Cut(path, "="); ok && err != nil && before != "" && after != "" {
		label, path = before, after
		info, err = os.Stat(path)
	}
	switch {
	case path == stdin:
		f.pair(label, stdin).summary = stdin
		return
	case err == nil && info.IsDir():
		f.addDir(label, path)
		return
	case err == nil:
		f.addFile(label, path)
		return
	}
	matches, globErr := filepath.Glob(path)
	switch {
	case globErr != nil:
		f.warn(path, "not a file and not a pattern: %v", globErr)
	case len(matches) == 0 && strings.ContainsAny(path, "*?["):
		f.warn(path, "the pattern matches no file")
	case len(matches) == 0:
		f.warn(path, "%v", reason(err))
	}
	for _, match := range matches {
		f.addMatch(label, match)
	}
}

// addMatch adds what a pattern has found: what a lab writes beside its runs
// was not meant.
func (f *finder) addMatch(label, path string) {
	info, err := os.Stat(path)
	switch base := filepath.Base(path); {
	case err == nil && info.IsDir():
		f.addDir(label, path)
	case written(base):
	default:
		f.addFile(label, path)
	}
}

// written says whether a lab writes a file of that name beside its runs.
func written(base string) bool { return strings.HasPrefix(base, "comparison.") || base == "lab.json" }

// addDir adds the files of a folder: those with the names of a lab's, or if
// there are none, all that may hold a summary.
func (f *finder) addDir(label, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		f.warn(dir, "%v", reason(err))
		return
	}
	var labs, others []string
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || written(name) || !isFile(dir, entry) {
			continue
		}
		switch {
		case suffixOf(name) != "":
			labs = append(labs, name)
		case mayHoldSummary(name):
			others = append(others, name)
		}
	}
	if len(labs) == 0 {
		labs = others
	}
	for _, name := range labs {
		f.addFile(label, filepath.Join(dir, name)).found = true
	}
	if len(labs) == 0 {
		f.warn(dir, "no *%s in this folder, and no other *.json or *.ndjson", summarySuffix)
	}
}

// isFile says whether an entry is a file or a link to one: a pipe might never
// end.
func isFile(dir string, entry os.DirEntry) bool {
	if entry.Type()&os.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := os.Stat(filepath.Join(dir, entry.Name()))
	return err == nil && info.Mode().IsRegular()
}

// mayHoldSummary says whether a file of that name is worth a look.
func mayHoldSummary(name string) bool {
	name = strings.TrimSuffix(name, ".gz")
	return slices.Contains([]string{".json", ".ndjson", ".jsonl"}, filepath.Ext(name))
}

// pair is the run of that key, a new one if there is none yet.
func (f *finder) pair(label, key string) *pair {
	id := label + "\x00" + key
	p := f.known[id]
	if p == nil {
		p = &pair{label: label, key: key}
		f.known[id] = p
		f.pairs = append(f.pairs, p)
	}
	return p
}

// addFile notes a file and the others of its run, if they are there.
func (f *finder) addFile(label, path string) *pair {
	path = filepath.Clean(path)
	p := f.pair(label, stem(path))
	if old := *p.place(path); old != "" && old != path {
		p = f.pair(label, path)
	}
	*p.place(path) = path
	for _, other := range []struct {
		to       *string
		suffixes []string
	}{
		{&p.summary, []string{summarySuffix, dashedSummarySuffix}},
		{&p.run, []string{runSuffix}},
		{&p.snapshot, []string{snapshotSuffix, dottedSnapshotSuffix}},
	} {
		for _, suffix := range other.suffixes {
			if *other.to != "" {
				break
			}
			if info, err := os.Stat(p.key + suffix); err == nil && info.Mode().IsRegular() {
				*other.to = p.key + suffix
			}
		}
	}
	return p
}

// place is where the pair keeps a file of that name.
func (p *pair) place(path string) *string {
	switch suffixOf(path) {
	case runSuffix:
		return &p.run
	case snapshotSuffix, dottedSnapshotSuffix:
		return &p.snapshot
	}
	return &p.summary
}
