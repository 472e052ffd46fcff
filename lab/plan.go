package lab

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/retrylab/retrylab/downstream"
	"github.com/retrylab/retrylab/resilience/catalog"
	"github.com/retrylab/retrylab/scripts"
	"github.com/retrylab/retrylab/service"
	"go.yaml.in/yaml/v3"
)

//go:embed plans/*.yaml
var plans embed.FS

// Plan is a set of runs to be measured together.
type Plan struct {
	Name         string                  `yaml:"name"`
	Title        string                  `yaml:"title"`
	Cancellation downstream.Cancellation `yaml:"cancellation"` // what the server does with a call whose caller is gone
	Runs         []PlannedRun            `yaml:"runs"`

	// Rate makes the load of each run an open one: so many requests begin per
	// second, whatever becomes of those before, and the mode's virtual users do not
	// count. 0: a closed loop. The script has it as RATE, and the length as DURATION.
	Rate float64 `yaml:"rate"`

	// Length is the least length of a run, where that of the mode would be too short
	// to see what the plan is about; 0: that of the mode.
	Length time.Duration `yaml:"length"`

	// Once says that a run is one iteration of one virtual user, whose log is
	// shown as it goes, instead of a load: see [OnceMode].
	Once bool `yaml:"once"`
}

// PlannedRun is one policy against one failure mode.
type PlannedRun struct {
	Number   int            `yaml:"-"` // from 1, in the order of the plan
	Policy   string         `yaml:"policy"`
	Scenario string         `yaml:"scenario"`
	Params   map[string]any `yaml:"params"` // of the scenario; absent ones have their defaults
	Tiers    []any          `yaml:"tiers"`  // services in front of the server, as [service.ParseTiers] reads them; absent: none
	Script   string         `yaml:"script"` // absent: the script named as the scenario is

	// Variant tells runs of the same policy and scenario apart.
	Variant      string                   `yaml:"variant"`
	Cancellation *downstream.Cancellation `yaml:"cancellation"` // absent: the plan's
	Env          map[string]string        `yaml:"env"`          // more entries of the script's __ENV
}

// tiers are the services in front of the run's server; nil: none.
func (r PlannedRun) tiers() ([]service.Tier, error) {
	if r.Tiers == nil {
		return nil, nil
	}
	return service.ParseTiers(r.Tiers, catalog.Builtin())
}

// Name is the run's published name: the policy's and the scenario's, and its
// variant if it has one.
func (r PlannedRun) Name() string {
	name := r.Policy + "-" + r.Scenario
	if r.Variant != "" {
		name += "-" + r.Variant
	}
	return name
}

// PlanNames lists the built-in plans.
func PlanNames() []string {
	entries, err := fs.ReadDir(plans, "plans")
	if err != nil {
		panic(err) // the folder is embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// BuiltinPlan returns the built-in plan of this name. The error names the
// known ones.
func BuiltinPlan(name string) (Plan, error) {
	data, err := plans.ReadFile(path.Join("plans", name+".yaml"))
	if err != nil {
		return Plan{}, fmt.Errorf("unknown plan %q, known are: %s", name, strings.Join(PlanNames(), ", "))
	}
	return ParsePlan(name+".yaml", data)
}

// ParsePlan reads a plan and checks all that it names: policies, scenarios and
// parameters, tiers, scripts (those of package scripts), variants and entries of
// __ENV. Source names it in errors, which list every fault.
func ParsePlan(source string, data []byte) (Plan, error) {
	var p Plan
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", source, err)
	}
	var faults []error
	names := make(map[string]bool)
	if p.Name == "" {
		faults = append(faults, errors.New("name: is missing"))
	} else if !word.MatchString(p.Name) {
		faults = append(faults, fmt.Errorf("name: %q %s", p.Name, notAWord))
	}
	if !(p.Rate >= 0 && p.Rate <= mostRate) {
		faults = append(faults, fmt.Errorf("rate: %v is not in 0 … %d requests per second", p.Rate, mostRate))
	}
	if p.Length < 0 || p.Length > mostLength {
		faults = append(faults, fmt.Errorf("length: %v is not in 0s … %v", p.Length, mostLength))
	}
	if len(p.Runs) == 0 {
		faults = append(faults, errors.New("runs: there is none"))
	}
	for i := range p.Runs {
		r := &p.Runs[i]
		r.Number = i + 1
		if r.Script == "" {
			r.Script = r.Scenario + ".js"
		}
		if r.Cancellation == nil {
			r.Cancellation = &p.Cancellation
		}
		if names[r.Name()] {
			faults = append(faults, fmt.Errorf("runs[%d]: %q stands here twice; give one a variant", i, r.Name()))
		}
		names[r.Name()] = true
		if _, err := catalog.Builtin().Lookup(r.Policy); err != nil {
			faults = append(faults, fmt.Errorf("runs[%d].policy: %w", i, err))
		}
		if _, err := downstream.ParseScenario(r.Scenario, r.Params); err != nil {
			faults = append(faults, fmt.Errorf("runs[%d].scenario: %w", i, err))
		} else if err := r.findScript(); err != nil {
			faults = append(faults, fmt.Errorf("runs[%d].script: %w", i, err))
		}
		for _, err := range r.check() {
			faults = append(faults, fmt.Errorf("runs[%d].%w", i, err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", source, err)
	}
	return p, nil
}

// word is what a name may be that is part of a file's name.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const notAWord = "is not made of letters, digits, '-', '_' and '.' after a letter or a digit"

// envName is what the name of an entry of __ENV may be.
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// check names what is wrong with the run's variant, entries of __ENV and tiers.
func (r PlannedRun) check() []error {
	var faults []error
	if r.Variant != "" && !word.MatchString(r.Variant) {
		faults = append(faults, fmt.Errorf("variant: %q %s", r.Variant, notAWord))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		switch {
		case name == "POLICY" || name == "BASE_URL" || name == "RATE" || name == "DURATION":
			faults = append(faults, fmt.Errorf("env: %q is set by the lab itself", name))
		case !envName.MatchString(name):
			faults = append(faults, fmt.Errorf("env: %q is not made of letters, digits and '_' after a letter or '_'", name))
		}
	}
	_, err := r.tiers()
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return append(faults, joined.Unwrap()...)
	}
	if err != nil {
		faults = append(faults, err)
	}
	return faults
}

// findScript says whether the run's script is there.
func (r PlannedRun) findScript() error {
	if info, err := fs.Stat(scripts.FS, r.Script); err == nil && !info.IsDir() {
		return nil
	}
	known, err := fs.Glob(scripts.FS, "*.js")
	if err != nil {
		return err
	}
	return fmt.Errorf("unknown script %q, known are: %s", r.Script, strings.Join(known, ", "))
}

// Only keeps the runs that match one of the patterns: a run's number, or a
// glob of its name. A pattern that matches none is an error.
func (p Plan) Only(patterns []string) (Plan, error) {
	if len(patterns) == 0 {
		return p, nil
	}
	keep := make([]bool, len(p.Runs))
	for _, pattern := range patterns {
		matched := false
		for i, r := range p.Runs {
			ok, err := path.Match(pattern, r.Name())
			if err != nil {
				return Plan{}, fmt.Errorf("only: %q is no pattern: %w", pattern, err)
			}
			if ok || fmt.Sprint(r.Number) == strings.TrimLeft(pattern, "0") {
				keep[i], matched = true, true
			}
		}
		if !matched {
			return Plan{}, fmt.Errorf("only: no run of plan %s matches %q", p.Name, pattern)
		}
	}
	var runs []PlannedRun
	for i, r := range p.Runs {
		if keep[i] {
			runs = append(runs, r)
		}
	}
	p.Runs = runs
	return p, nil
}

// Mode is how long and how hard each run of a plan loads.
type Mode struct {
	Name        string
	VUs         int
	Duration    time.Duration
	Repetitions int

	// Rate is the rate of an open loop, in requests per second, and VUs is 0 then; 0:
	// a closed loop of VUs.
	Rate float64
}

// The most that a mode may ask for.
const (
	mostVUs    = 10_000
	mostRate   = 100_000
	mostLength = 24 * time.Hour
)

// Of returns the mode as the plan has it: with its rate, of its length at least, or
// once.
func (m Mode) Of(p Plan) Mode {
	if p.Once {
		return OnceMode()
	}
	if p.Rate > 0 {
		m.Rate, m.VUs = p.Rate, 0
	}
	m.Duration = max(m.Duration, p.Length)
	return m
}

// Load is the mode's load in words: "40 VUs x 3s".
func (m Mode) Load() string {
	if m.Rate > 0 {
		return fmt.Sprintf("%v requests/s x %v", m.Rate, m.Duration)
	}
	return fmt.Sprintf("%d VUs x %v", m.VUs, m.Duration)
}

// Modes lists the named modes.
func Modes() []Mode {
	return []Mode{
		{Name: "quick", VUs: 40, Duration: 3 * time.Second, Repetitions: 1},
		{Name: "smoke", VUs: 5, Duration: 5 * time.Second, Repetitions: 1},
		{Name: "editorial", VUs: 40, Duration: time.Minute, Repetitions: 3},
	}
}

// OnceMode is the mode of a plan that runs once. Its duration is the longest
// that a run may take.
func OnceMode() Mode { return Mode{Name: "once", VUs: 1, Duration: 5 * time.Minute, Repetitions: 1} }

// LookupMode returns the mode of this name. The error names the known ones.
func LookupMode(name string) (Mode, error) {
	var names []string
	for _, m := range Modes() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Mode{}, fmt.Errorf("unknown mode %q, known are: %s", name, strings.Join(names, ", "))
}

// Validate names everything that is wrong with a mode.
func (m Mode) Validate() error {
	var faults []error
	switch {
	case m.Rate == 0 && (m.VUs < 1 || m.VUs > mostVUs):
		faults = append(faults, fmt.Errorf("vus: %d is not in 1 … %d", m.VUs, mostVUs))
	case m.Rate != 0 && m.VUs != 0:
		faults = append(faults, fmt.Errorf("vus: %d make no open loop of %v requests/s", m.VUs, m.Rate))
	case !(m.Rate >= 0 && m.Rate <= mostRate):
		faults = append(faults, fmt.Errorf("rate: %v is not in 0 … %d requests per second", m.Rate, mostRate))
	}
	if m.Duration < time.Second || m.Duration > mostLength {
		faults = append(faults, fmt.Errorf("duration: %v is not in 1s … 24h", m.Duration))
	}
	if m.Repetitions < 1 || m.Repetitions > 1000 {
		faults = append(faults, fmt.Errorf("reps: %d is not in 1 … 1000", m.Repetitions))
	}
	return errors.Join(faults...)
}
