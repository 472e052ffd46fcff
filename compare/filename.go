package compare

import (
	"path/filepath"
	"strconv"
	"strings"
)

// The ends of the names of a run's files: its summary, its run.json and the
// account of its service, as labs here and the published experiment name them.
const (
	summarySuffix        = ".summary.json"
	dashedSummarySuffix  = "-summary.json"
	runSuffix            = ".run.json"
	snapshotSuffix       = "-app-metrics.json"
	dottedSnapshotSuffix = ".app-metrics.json"
)

// suffixOf is the one of these that a path ends in, empty for none.
func suffixOf(path string) string {
	for _, suffix := range []string{summarySuffix, dashedSummarySuffix, runSuffix, snapshotSuffix, dottedSnapshotSuffix} {
		if strings.HasSuffix(path, suffix) {
			return suffix
		}
	}
	return ""
}

// stem cuts the suffix of a lab's file, or else of a summary's, off its path;
// the files of a run share it.
func stem(path string) string {
	if suffix := suffixOf(path); suffix != "" {
		return strings.TrimSuffix(path, suffix)
	}
	path = strings.TrimSuffix(path, ".gz")
	for _, suffix := range []string{".json", ".ndjson", ".jsonl"} {
		if cut, ok := strings.CutSuffix(path, suffix); ok {
			return cut
		}
	}
	return path
}

// fromName reads a run's number, name and repetition out of its files' name,
// NN-policy-scenario[-rR].
func fromName(path string) (number int, name string, repetition int) {
	name, repetition = filepath.Base(stem(path)), 1
	if digits, rest, ok := strings.Cut(name, "-"); ok && rest != "" && len(digits) <= 6 {
		if n, err := strconv.ParseUint(digits, 10, 32); err == nil {
			number, name = int(n), rest
		}
	}
	if i := strings.LastIndex(name, "-r"); i > 0 {
		if r, err := strconv.ParseUint(name[i+2:], 10, 16); err == nil && r > 0 {
			name, repetition = name[:i], int(r)
		}
	}
	return number, name, repetition
}

// split parts a run's name into its policy and its scenario, which works for the
// scenarios known here; of any other name all is the policy.
func split(name string) (policy, scenario string) {
	for _, known := range []string{
		"fixed-delay", "random-failures", "progressive-degradation", "latency-tail-spike",
		"outage", "brownout", "overload", "rate-limited", "bursty", "gray", "cold-cache",
		"slow-body", "partial-body", "payments", "chain",
	} {
		if cut, ok := strings.CutSuffix(name, "-"+known); ok && cut != "" {
			return cut, known
		}
	}
	return name, ""
}
