package compare_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/retrylab/retrylab/compare"
)

func TestAFolderOfOtherNamesIsReadWhole(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.json", "b.ndjson", "lab.json", "comparison.json", ".hidden.json", "notes.txt"} {
		write(t, dir, name, oneRequest)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub.json"), 0o700))
	runs, warnings, err := compare.Read(dir)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, []string{"a.json", "b.ndjson"}, labels(runs), "the shape is told by the content")
	write(t, dir, "c.summary.json", oneRequest)
	runs, _, err = compare.Read(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"c.summary.json"}, labels(runs), "where a lab's names are, the rest is beside them")
}

func TestLabels(t *testing.T) {
	dir := t.TempDir()
	a, b := write(t, dir, "a.json", oneRequest), write(t, dir, "b.json", oneRequest)
	lab := write(t, dir, "03-jitter-gray.summary.json", oneRequest)
	runs, warnings, err := compare.Read("base="+a, "base="+b, "head="+a, "head="+lab)
	require.NoError(t, err)
	require.Empty(t, warnings)
	var got []string
	for _, run := range runs {
		got = append(got, fmt.Sprintf("%s %s %d %s", run.Lab, run.Name, run.Repetition, filepath.Base(run.File)))
	}
	require.Equal(t, []string{
		"head jitter-gray 1 03-jitter-gray.summary.json", "base base 1 a.json", "base base 2 b.json", "head head 1 a.json",
	}, got)
	require.Len(t, compare.Build(runs).Rows, 3)

	runs, _, err = compare.Read("x=" + filepath.Join(dir, "?.json"))
	require.NoError(t, err)
	require.Len(t, compare.Build(runs).Rows, 1, "files of one label are repetitions")

	odd := write(t, dir, "x=y.json", oneRequest)
	runs, _, err = compare.Read(odd)
	require.NoError(t, err)
	require.Equal(t, "x=y", runs[0].Name, "a file that is there needs no label")
}

// Every file that is named, or that a pattern finds, is read.
func TestFilesThatDifferInTheirEndingAreAllRead(t *testing.T) {
	for _, names := range [][]string{
		{"s.ndjson", "s.json.gz"}, {"s.json", "s.summary.json"}, {"s.summary.json", "s-summary.json", "s.jsonl"},
		{"s.app-metrics.json", "s-app-metrics.json"}, {"s", "s.json"}, {"07-jitter-gray-r2.json", "07-jitter-gray-r2.summary.json"},
	} {
		dir := t.TempDir()
		var paths []string
		for _, name := range names {
			paths = append(paths, write(t, dir, name, oneRequest))
		}
		for _, given := range [][]string{paths, {filepath.Join(dir, "*")}} {
			runs, warnings, err := compare.Read(given...)
			require.NoError(t, err)
			require.Empty(t, warnings)
			var read []string
			for _, run := range runs {
				read = append(read, run.File)
			}
			require.ElementsMatch(t, paths, read)
			require.Len(t, compare.Build(runs).Rows, len(paths), "none is a repetition of another")
		}
	}
	dir := t.TempDir()
	write(t, dir, "07-jitter-gray.summary.json", oneRequest)
	runs, _, err := compare.Read(write(t, dir, "07-jitter-gray.json", oneRequest), dir)
	require.NoError(t, err)
	require.Equal(t, []string{"jitter-gray", "jitter-gray.summary.json"}, []string{runs[0].Name, runs[1].Name})
	require.Equal(t, []string{"jitter", "jitter"}, []string{runs[0].Policy.Name, runs[1].Policy.Name})
	require.Equal(t, "gray", runs[1].Scenario.Name)
}

// Labs are in the order in which they are given, and so are the rows of each number.
func TestLabsAreToldApartAndStayInTheOrderGiven(t *testing.T) {
	dir := t.TempDir()
	file := func(folder, name string) string {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
		return write(t, filepath.Join(dir, folder), name, oneRequest)
	}
	file("b", "02-x.json")
	build := func(paths ...string) (labs, titles []string) {
		runs, _, err := compare.Read(paths...)
		require.NoError(t, err)
		report := compare.Build(runs)
		for _, row := range report.Rows {
			titles = append(titles, row.Title())
		}
		return report.Labs, titles
	}
	labs, titles := build(file("b", "s.json"), file("a", "s.json"))
	require.Equal(t, []string{"b", "a"}, labs)
	require.Equal(t, []string{"s of b", "s of a"}, titles)
	labs, titles = build("now="+file("b", "02-x-gray.summary.json"), "before="+file("a", "01-y-gray.summary.json"), "before="+file("a", "02-x-gray.summary.json"))
	require.Equal(t, []string{"now", "before"}, labs)
	require.Equal(t, []string{"01 y-gray of before", "02 x-gray of now", "02 x-gray of before"}, titles)
	labs, titles = build(file("1/results", "s.json"), file("2/results", "s.json"))
	require.Equal(t, []string{filepath.Join(dir, "1/results"), filepath.Join(dir, "2/results")}, labs)
	require.Len(t, titles, 2, "folders of one name are two labs")
	_, titles = build("before="+file("a", "s.json"), "after="+file("b", "s.json"))
	require.Equal(t, []string{"before", "after"}, titles, "which a label does already")
	_, titles = build(file("a", "t.json"), file("a", "s.json"))
	require.Equal(t, []string{"t", "s"}, titles)
}

func TestTheStandardInput(t *testing.T) {
	runs, warnings, err := compare.Reader{Stdin: strings.NewReader(oneRequest)}.Read("-", "s="+write(t, t.TempDir(), "a.json", oneRequest))
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Len(t, runs, 2)
	require.Equal(t, "-", runs[0].Name)
	_, warnings, err = compare.Read("-")
	require.ErrorIs(t, err, compare.ErrNoRuns)
	require.Equal(t, []compare.Warning{{File: "-", Reason: "there is no standard input: left out"}}, warnings)
	_, warnings, err = compare.Reader{Stdin: io.MultiReader(strings.NewReader(oneRequest[:9]), broken{})}.Read("-")
	require.ErrorIs(t, err, compare.ErrNoRuns)
	require.Equal(t, "- the line is dead: left out", warnings[0].File+" "+warnings[0].Reason)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fmt.Errorf("the line is dead") }

func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	names := []string{"with space.json", `quo"te's.json`, "<script>alert(1)<.json", "new\nline.json", "=cmd|x.json", "tab\t.json", "ünïcödé.json"}
	for _, name := range names {
		write(t, dir, name, oneRequest)
		write(t, dir, name+".bad.json", "{")
	}
	runs, warnings, err := compare.Read(dir)
	require.NoError(t, err)
	require.Len(t, runs, len(names))
	require.Len(t, warnings, len(names))
	for _, w := range warnings {
		require.Contains(t, w.Reason, "unexpected end of JSON input")
	}
}

func TestAFolderOfTenThousandFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 10_000 {
		text := oneRequest
		if i%100 == 0 {
			text = text[:len(text)/2]
		}
		write(t, dir, fmt.Sprintf("%05d.json", i), text)
	}
	begin := time.Now()
	runs, warnings, err := compare.Read(dir)
	require.NoError(t, err)
	require.Len(t, runs, 9_900)
	require.Len(t, warnings, 100)
	t.Logf("read in %v on %d CPUs", time.Since(begin), runtime.NumCPU())
}

func TestAPipeInAFolderIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.json", oneRequest)
	pipe(t, filepath.Join(dir, "b.json"))
	runs, warnings, err := compare.Read(dir)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Len(t, runs, 1)
}
