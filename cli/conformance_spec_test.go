package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// summaryFile is where a run writes its --summary-export.
const summaryFile = "summary.json"

// specification is the comment at the top of a script of the conformance
// suite, in YAML.
type specification struct {
	// Script is run in place of the file that has the comment.
	Script string
	// Args are further arguments, and Env further environment variables.
	Args []string
	Env  map[string]string
	// OwnStats leaves the figures of trends to the script; otherwise they are
	// count, avg, min, med and max.
	OwnStats bool `yaml:"ownStats"`
	// NotOnK6 is why the script is not run on k6.
	NotOnK6 string `yaml:"notOnK6"`
	// Varies are metrics that differ from run to run, so that both runners'
	// are not compared.
	Varies []string

	Expect expectation
	// K6 is what k6 does otherwise, and why; nil if there is nothing.
	K6 *struct {
		Because     string
		expectation `yaml:",inline"`
	}

	script string // the file to run
}

// expectation is what a run must come to. What it does not name is not
// checked, but for the exit code, which is 0 unless it says otherwise.
type expectation struct {
	Exit *int
	// Counts are the counts of counters and trends, Rates the passes and fails
	// of rates, Values single figures, as "my_gauge max".
	Counts map[string]*float64
	Rates  map[string]*[2]float64
	Values map[string]*float64
	// None are metrics that must not be there.
	None []string
	// Checks are passes and fails by name, with the groups before it as in
	// "group::name".
	Checks map[string]*[2]float64
	// Console is all that the script logged, each as its level and message.
	Console []string
	// Stdout and Stderr have these fragments, files too.
	Stdout, Stderr []string
	Files          map[string][]string
}

// readSpecification reads the comment at the top of a script.
func readSpecification(file string) (*specification, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	comment, _, ok := bytes.Cut(bytes.TrimPrefix(text, []byte("/*\n")), []byte("*/"))
	if !ok || !bytes.HasPrefix(text, []byte("/*\n")) {
		return nil, fmt.Errorf("%s does not begin with a comment", file)
	}
	s := &specification{}
	dec := yaml.NewDecoder(bytes.NewReader(comment))
	dec.KnownFields(true)
	if err := dec.Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if s.K6 != nil && s.K6.Because == "" {
		return nil, fmt.Errorf("%s: the difference of k6 has no reason", file)
	}
	if s.Expect.Exit == nil {
		s.Expect.Exit = new(int)
	}
	if s.script = filepath.Base(file); s.Script != "" {
		s.script = s.Script
	}
	s.script, err = filepath.Abs(filepath.Join(filepath.Dir(file), s.script))
	return s, err
}

// ofK6 is the expectation of k6: the common one with the declared differences
// in place. A null takes an entry away.
func (s *specification) ofK6() *expectation {
	e := s.Expect
	if s.K6 == nil {
		return &e
	}
	d := s.K6.expectation
	if d.Exit != nil {
		e.Exit = d.Exit
	}
	e.Counts, e.Rates = merged(e.Counts, d.Counts), merged(e.Rates, d.Rates)
	e.Values, e.Checks = merged(e.Values, d.Values), merged(e.Checks, d.Checks)
	e.Files = merged(e.Files, d.Files)
	for list, other := range map[*[]string][]string{&e.None: d.None, &e.Console: d.Console, &e.Stdout: d.Stdout, &e.Stderr: d.Stderr} {
		if other != nil {
			*list = other
		}
	}
	return &e
}

func merged[V any](base, over map[string]V) map[string]V {
	out := make(map[string]V, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// declared says where k6's difference must show.
func (s *specification) declared() map[string]bool {
	where := make(map[string]bool)
	if s.K6 == nil {
		return where
	}
	d := s.K6.expectation
	where["exit"] = d.Exit != nil
	for list, names := range map[string][]string{
		"none": d.None, "console": d.Console, "stdout": d.Stdout, "stderr": d.Stderr,
	} {
		where[list] = names != nil
	}
	add(where, "counts", d.Counts)
	add(where, "rates", d.Rates)
	add(where, "values", d.Values)
	add(where, "checks", d.Checks)
	add(where, "files", d.Files)
	maps.DeleteFunc(where, func(_ string, is bool) bool { return !is })
	return where
}

func add[V any](where map[string]bool, list string, entries map[string]V) {
	for name := range entries {
		where[list+" "+name] = true
	}
}

// faults are where a run is not as expected: what was found, by place.
func faults(e *expectation, o *outcome) map[string]string {
	out := make(map[string]string)
	expect := func(where string, want, got any) {
		if w, g := fmt.Sprint(want), fmt.Sprint(got); w != g {
			out[where] = fmt.Sprintf("want %s, got %s", w, g)
		}
	}
	expect("exit", *e.Exit, o.exit)
	for name, want := range e.Counts {
		if want != nil {
			expect("counts "+name, *want, o.summary.figure(name, "count"))
		}
	}
	for name, want := range e.Rates {
		if want != nil {
			expect("rates "+name, *want, [2]float64{o.summary.figure(name, "passes"), o.summary.figure(name, "fails")})
		}
	}
	for name, want := range e.Values {
		if want != nil {
			metric, figure, _ := strings.Cut(name, " ")
			expect("values "+name, *want, o.summary.figure(metric, figure))
		}
	}
	for _, name := range e.None {
		if o.summary.Metrics[name] != nil {
			out["none"] = fmt.Sprintf("the metric %q is there", name)
		}
	}
	checks := o.summary.Root.all("")
	for name, want := range e.Checks {
		if want == nil {
			continue
		}
		got, ok := checks[name]
		if expect("checks "+name, *want, got); !ok {
			out["checks "+name] = fmt.Sprintf("want %v, but there is no such check", *want)
		}
	}
	if e.Console != nil {
		expect("console", strings.Join(e.Console, "\n"), strings.Join(o.console, "\n"))
	}
	fragments(out, "stdout", o.stdout, e.Stdout)
	fragments(out, "stderr", o.stderr, e.Stderr)
	for name, want := range e.Files {
		data, err := os.ReadFile(filepath.Join(o.files, name))
		if err != nil {
			out["files "+name] = err.Error()
			continue
		}
		fragments(out, "files "+name, string(data), want)
	}
	return out
}

func fragments(out map[string]string, where, text string, want []string) {
	for _, fragment := range want {
		if !strings.Contains(text, fragment) {
			out[where] = fmt.Sprintf("%q is missing", fragment)
		}
	}
}

// differences are where two runs of a script differ, but for those declared.
func (s *specification) differences(ours, theirs *outcome) map[string]string {
	out := make(map[string]string)
	differ := func(where string, our, their any) {
		if a, b := fmt.Sprint(our), fmt.Sprint(their); a != b {
			out[where] = fmt.Sprintf("the built-in runner has %s, k6 %s", a, b)
		}
	}
	differ("exit", ours.exit, theirs.exit)
	differ("console", sorted(ours.console), sorted(theirs.console))
	// Traffic has the user agent in it; the gauges of virtual users are looked
	// at once a second.
	varies := append([]string{"data_sent", "data_received", "vus", "vus_max"}, s.Varies...)
	for name := range merged(ours.summary.Metrics, theirs.summary.Metrics) {
		if base, _, _ := strings.Cut(name, "{"); slices.Contains(varies, base) || slices.Contains(varies, name) {
			continue
		}
		if our, their := ours.summary.Metrics[name] != nil, theirs.summary.Metrics[name] != nil; our != their {
			differ("metric "+name, our, their)
			continue
		}
		differ("counts "+name, ours.summary.figure(name, "count"), theirs.summary.figure(name, "count"))
		differ("rates "+name, [2]float64{ours.summary.figure(name, "passes"), ours.summary.figure(name, "fails")},
			[2]float64{theirs.summary.figure(name, "passes"), theirs.summary.figure(name, "fails")})
		differ("thresholds "+name, ours.summary.Metrics[name]["thresholds"], theirs.summary.Metrics[name]["thresholds"])
	}
	our, their := ours.summary.Root.all(""), theirs.summary.Root.all("")
	for name := range merged(our, their) {
		differ("checks "+name, our[name], their[name])
	}
	declared, metrics := s.declared(), make(map[string]bool)
	for where := range declared {
		if kind, name, _ := strings.Cut(where, " "); kind == "counts" || kind == "rates" || kind == "values" {
			metrics[leader(name)] = true
		}
	}
	if declared["none"] {
		for _, name := range s.Expect.None {
			metrics[leader(name)] = true
		}
	}
	maps.DeleteFunc(out, func(where, _ string) bool {
		kind, name, _ := strings.Cut(where, " ")
		isMetric := kind == "metric" || kind == "counts" || kind == "rates" || kind == "thresholds"
		return declared[where] || isMetric && metrics[leader(name)]
	})
	return out
}

// leader stands for the metrics that are always sampled together: the declared
// difference of one explains those of the others.
func leader(metric string) string {
	switch {
	case strings.HasPrefix(metric, "http_req"):
		return "http_reqs"
	case metric == "iteration_duration":
		return "iterations"
	}
	return metric
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// exported is the file of --summary-export, or the nothing in place of it.
type exported struct {
	Metrics map[string]map[string]any `json:"metrics"`
	Root    group                     `json:"root_group"`
}

type group struct {
	Groups map[string]group `json:"groups"`
	Checks map[string]struct {
		Passes float64 `json:"passes"`
		Fails  float64 `json:"fails"`
	} `json:"checks"`
}

// readExported reads a file of --summary-export; one that is missing is empty.
func readExported(name string) (*exported, error) {
	e := &exported{}
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err == nil {
		err = json.Unmarshal(data, e)
	}
	return e, err
}

// figure is one number of a metric, NaN if it is not there.
func (e *exported) figure(metric, name string) float64 {
	if v, ok := e.Metrics[metric][name].(float64); ok {
		return v
	}
	return math.NaN()
}

// all are the passes and fails of all checks by their names with the groups
// before.
func (g group) all(prefix string) map[string][2]float64 {
	out := make(map[string][2]float64)
	for name, c := range g.Checks {
		out[prefix+name] = [2]float64{c.Passes, c.Fails}
	}
	for name, inner := range g.Groups {
		maps.Copy(out, inner.all(prefix+name+"::"))
	}
	return out
}

// consoleLine is a line of a log that the script's console wrote.
var consoleLine = regexp.MustCompile(`(?m)^time="[^"]*" level=(\w+) msg=("(?:[^"\\]|\\.)*"|\S*) source=console$`)

// consoleLines are the levels and messages that the script's console wrote to
// a log.
func consoleLines(log string) []string {
	var out []string
	for _, found := range consoleLine.FindAllStringSubmatch(log, -1) {
		message := found[2]
		if text, err := strconv.Unquote(message); err == nil {
			message = text
		}
		out = append(out, found[1]+" "+message)
	}
	return out
}
