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
	if testing.Short() {
		t.Skip("writes 10,000 files")
	}
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
